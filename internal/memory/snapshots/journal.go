package snapshots

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/platform/files"
	"engramd/internal/protocol/wire"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// JournalName is the name of the journal in the folder of an agent's bundles.
// The agent's lock is held by whoever reads or writes it.
const JournalName = "revert.journal"

const (
	journalFormat = "engramd-revert-v1"
	maxJournal    = 1 << 30
	maxLine       = 4 << 20
)

// ErrJournal means that a journal is not one, or is damaged.
var ErrJournal = errors.New("not the journal of a revert")

// Journal is a revert that was begun: everything that it writes, signed, in
// order. It is written as a whole before the first event is sent, so it needs
// no notes on what was done: the relays know.
type Journal struct {
	Agent       string    `json:"agent"`
	Tenant      string    `json:"tenant"`
	Bundle      string    `json:"bundle"`       // id
	PreSnapshot string    `json:"pre_snapshot"` // id of the bundle made before; "" for none
	CreatedAt   time.Time `json:"created_at"`
	Steps       []Step    `json:"-"`
}

// Step is one version to write.
type Step struct {
	// Base is the id of the head that it supersedes, "" for none: another one is a
	// conflict.
	Base  string
	Event *nostr.Event
	Core  bool // the last step
}

// journalHead is the first line of a journal.
type journalHead struct {
	Format string `json:"format"`
	Journal
	Steps int `json:"steps"`
}

type journalStep struct {
	Base  string          `json:"base"`
	Core  bool            `json:"core"`
	Event json.RawMessage `json:"event"`
}

// Save writes the journal into a folder: under another name first, synced,
// renamed, and the folder synced.
func (j *Journal) Save(dir string) (err error) {
	tmp := filepath.Join(dir, "."+JournalName)
	f, err := files.OpenNoFollow(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(tmp)
		}
	}()
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	head := journalHead{journalFormat, *j, len(j.Steps)}
	head.CreatedAt = j.CreatedAt.UTC()
	err = enc.Encode(head)
	for _, s := range j.Steps {
		if err == nil {
			err = enc.Encode(journalStep{s.Base, s.Core, wire.AppendEvent(nil, s.Event)})
		}
	}
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, filepath.Join(dir, JournalName))
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return files.SyncDir(dir)
}

// LoadJournal reads the journal in a folder; nil if there is none. The error is
// ErrJournal for one that is damaged.
func LoadJournal(dir string) (*Journal, error) {
	f, err := files.OpenNoFollow(filepath.Join(dir, JournalName), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxJournal {
		return nil, fmt.Errorf("%w: it is too large", ErrJournal)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	return parseJournal(lines)
}

func parseJournal(lines *bufio.Scanner) (*Journal, error) {
	var head journalHead
	if !lines.Scan() || strict(lines.Bytes(), &head) != nil || head.Format != journalFormat {
		return nil, fmt.Errorf("%w: its first line", ErrJournal)
	}
	j := &head.Journal
	for lines.Scan() {
		var s journalStep
		if err := strict(lines.Bytes(), &s); err != nil {
			return nil, fmt.Errorf("%w: step %d", ErrJournal, len(j.Steps)+1)
		}
		ev, err := wire.ParseEvent(s.Event)
		if err == nil {
			err = wire.Verify(ev)
		}
		if err != nil || ev.PubKey != j.Agent || ev.Kind != kindEngram || bundle.CheckShape(ev) != nil {
			return nil, fmt.Errorf("%w: the event of step %d", ErrJournal, len(j.Steps)+1)
		}
		j.Steps = append(j.Steps, Step{Base: s.Base, Event: ev, Core: s.Core})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJournal, err)
	}
	if len(j.Steps) != head.Steps {
		return nil, fmt.Errorf("%w: it has %d of %d steps", ErrJournal, len(j.Steps), head.Steps)
	}
	return j, nil
}

func strict(line []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
}

// DropJournal removes the journal of a revert that is done, or is given up.
func DropJournal(dir string) error {
	if err := os.Remove(filepath.Join(dir, JournalName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("journal: %w", err)
	}
	return files.SyncDir(dir)
}

// Root returns what heads_root of a bundle of the capture will be, in hex.
func (c *Capture) Root() string {
	var leaves []bundle.Leaf
	for _, ev := range c.Heads() {
		var d, id [32]byte
		if n, err := hex.Decode(d[:], []byte(ev.Tags.GetD())); err != nil || n != len(d) {
			continue // no engram has such an address: CheckShape
		}
		if n, err := hex.Decode(id[:], []byte(ev.ID)); err != nil || n != len(id) {
			continue
		}
		leaves = append(leaves, bundle.NewLeaf(d, id, int64(ev.CreatedAt)))
	}
	root := bundle.HeadsRoot(leaves)
	return hex.EncodeToString(root[:])
}

// Text is one record of a memory in plain text.
type Text struct {
	Slug      nipae.Slug
	Owner     string
	Text      string
	Removed   bool // a tombstone
	CreatedAt int64
	ID        string
	Err       error // why it cannot be read; then only Owner, CreatedAt and ID are known
}

// Texts gives yield every head of a source, decrypted, in its order.
func Texts(ctx context.Context, src bundle.Source, agent string, keys bundle.Keys, yield func(Text) error) error {
	return src.Events(ctx, bundle.Heads, func(line []byte) error {
		ev, err := wire.ParseEvent(line)
		if err != nil {
			return err
		}
		t := Text{Owner: ownerOf(ev), CreatedAt: int64(ev.CreatedAt), ID: ev.ID}
		key, ok := keys(agent, t.Owner)
		if !ok {
			t.Err = snapshot.ErrUnreadable
			return yield(t)
		}
		engram, err := nipae.Open(key, agent, t.Owner, ev)
		if err != nil {
			t.Err = err
			return yield(t)
		}
		text, live := engram.Body.Text()
		t.Slug, t.Text, t.Removed = engram.Slug(), text, !live
		return yield(t)
	})
}
