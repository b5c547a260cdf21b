package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// SetSpec describes events that are published. What it does not say follows
// from it: equal specs give equal events, but for the signatures.
type SetSpec struct {
	Name    string // of the use; sets of different names have different keys
	Engrams bool   // kind 30174 instead of kind 1
	Count   int
	Authors int // of the notes, or agents: event i is by number i mod Authors
	// Replace, if not 0, makes every so many-th engram of an agent a newer version
	// of an older one of the set.
	Replace int
	Tags    int // of each note: e and p in turn
	Seed    uint64
}

// Set is signed events in memory, to be published in their order.
type Set struct {
	Path    string // JSON Lines
	Spec    SetSpec
	Authors []Key   // of notes
	Agents  []Agent // of engrams
	text    []byte
	ends    []int // of the lines
}

// MaxSetBytes bounds what a set takes in memory.
const MaxSetBytes = 2 << 30

func (s SetSpec) path(cache string) string {
	kind := "notes"
	if s.Engrams {
		kind = "engrams"
	}
	return filepath.Join(cache, fmt.Sprintf("%s-%s-%d-%d-%d-%d-%d.jsonl", s.Name, kind, s.Count, s.Authors, s.Replace, s.Tags, s.Seed))
}

// PrepareSet returns the set that spec describes, and makes it first if the
// cache does not hold it.
func PrepareSet(ctx context.Context, cache string, spec SetSpec) (*Set, error) {
	if spec.Count < 1 || spec.Count > MaxSetBytes/eventSize || spec.Authors < 1 || spec.Tags < 0 || spec.Replace < 0 || spec.Replace == 1 {
		return nil, fmt.Errorf("%w: a set of %d events by %d", ErrOptions, spec.Count, spec.Authors)
	}
	s := &Set{Path: spec.path(cache), Spec: spec}
	var err error
	if spec.Engrams {
		s.Agents, err = newAgents(spec.Seed, spec.Name+" agent", spec.Authors)
	} else {
		s.Authors, err = newKeys(spec.Seed, spec.Name+" author", spec.Authors)
	}
	if err != nil {
		return nil, err
	}
	if err = s.load(); !errors.Is(err, ErrNotPrepared) {
		return s, err
	}
	g := generator{seed: spec.Seed, stream: spec.Name}
	size, err := generate(ctx, s.Path, spec.Count, func(i int) (*nostr.Event, error) { return s.create(g, i) }, func(int, ID) {})
	if err != nil {
		return nil, err
	}
	err = replaceFile(besides(s.Path), func(w *bufio.Writer) error {
		return writeStamp(w, stamp{Version, spec.Count, spec.Seed, size})
	})
	if err != nil {
		return nil, err
	}
	return s, s.load()
}

// createdAt returns the time of event i of a set: each is a second newer than
// the one before.
func createdAt(i int) int64 { return int64(corpusEnd + 1 + i) }

// create makes event i.
func (s *Set) create(g generator, i int) (*nostr.Event, error) {
	at := createdAt(i)
	who, ordinal := i%s.Spec.Authors, i/s.Spec.Authors
	if !s.Spec.Engrams {
		return g.note(i, s.Authors[who], at, s.tags(g, i), "")
	}
	n, every := ordinal, s.Spec.Replace
	if every > 0 {
		n -= ordinal / every
		if ordinal%every == every-1 {
			n = rand.New(g.rand(-i)).IntN(n)
		}
	}
	return g.engram(i, s.Agents[who], n, at)
}

func (s *Set) tags(g generator, i int) nostr.Tags {
	tags := make(nostr.Tags, s.Spec.Tags)
	source := g.rand(-i)
	for t := range tags {
		var value ID
		source.Read(value[:])
		tags[t] = nostr.Tag{[]string{"e", "p"}[t%2], value.Hex()}
		if t%2 == 1 { // relays may look at whether it is a key
			tags[t][1] = s.Authors[(i+1)%len(s.Authors)].Pub
		}
	}
	return tags
}

// load reads the file if it is the one that is meant.
func (s *Set) load() error {
	f, stamp, err := openStamped(s.Path)
	if err != nil {
		return err
	}
	f.Close()
	if stamp.Version != Version || stamp.Count != s.Spec.Count || stamp.Seed != s.Spec.Seed || stamp.Bytes > MaxSetBytes {
		return fmt.Errorf("%s: %w: it is another set", s.Path, ErrNotPrepared)
	}
	if s.text, err = os.ReadFile(s.Path); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	s.ends = make([]int, 0, s.Spec.Count)
	for at := 0; at < len(s.text); {
		n := bytes.IndexByte(s.text[at:], '\n')
		if n < wire.PubKeyEnd {
			return fmt.Errorf("%s: %w: line %d is no event", s.Path, ErrNotPrepared, len(s.ends)+1)
		}
		at += n + 1
		s.ends = append(s.ends, at)
	}
	if len(s.ends) != s.Spec.Count {
		return fmt.Errorf("%s: %w: it has %d events", s.Path, ErrNotPrepared, len(s.ends))
	}
	return nil
}

// Len returns how many events there are.
func (s *Set) Len() int { return len(s.ends) }

// Bytes returns what their JSON takes together.
func (s *Set) Bytes() int64 { return int64(len(s.text) - len(s.ends)) }

// JSON is event i.
func (s *Set) JSON(i int) []byte {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.text[start : s.ends[i]-1]
}

// ID returns the id of event i in hex.
func (s *Set) ID(i int) []byte { return s.JSON(i)[wire.IDStart:wire.IDEnd] }
