package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// ErrNotPrepared means that the cache does not hold what is needed, whole and
// of this version.
var ErrNotPrepared = errors.New("not prepared")

// stamp is the first line of the file beside prepared events. It is written
// last, so what it describes is whole.
type stamp struct {
	Version int    `json:"version"`
	Count   int    `json:"count"`
	Seed    uint64 `json:"seed"`
	Bytes   int64  `json:"bytes"` // of the events
}

// A record of the index: id, created_at, who, marks.
const (
	recordSize = 32 + 8 + 2 + 2
	markEngram = 1 << 0
	markRare   = 1 << 1
	markCommon = 1 << 2
)

// besides returns the file that describes a file of events.
func besides(path string) string { return strings.TrimSuffix(path, ".jsonl") + ".idx" }

// PrepareCorpus returns the corpus of that size and seed, and makes it first if
// the cache does not hold it. Several processes may do so at once.
func PrepareCorpus(ctx context.Context, cache string, size int, seed uint64) (*Corpus, error) {
	c, err := LoadCorpus(cache, size, seed)
	if !errors.Is(err, ErrNotPrepared) {
		return c, err
	}
	if c, err = newCorpus(cache, size, seed); err != nil {
		return nil, err
	}
	g := generator{seed: seed, stream: "corpus"}
	c.Entries = make([]Entry, size)
	ordinals := make([]int, size)
	for i := range c.Entries {
		c.Entries[i], ordinals[i] = c.place(i)
	}
	create := func(i int) (*nostr.Event, error) {
		e := &c.Entries[i]
		if e.Engram {
			return g.engram(i, c.Agents[e.Who], ordinals[i], e.CreatedAt)
		}
		return g.note(i, c.Authors[e.Who], e.CreatedAt, noteTags(e), noteWords(e))
	}
	if c.Bytes, err = generate(ctx, c.Path, size, create, func(i int, id ID) { c.Entries[i].ID = id }); err != nil {
		return nil, err
	}
	if err := c.writeIndex(); err != nil {
		return nil, err
	}
	c.countEngrams()
	return c, nil
}

func noteTags(e *Entry) nostr.Tags {
	if !e.Rare {
		return nostr.Tags{}
	}
	return nostr.Tags{{"t", RareTag}}
}

func noteWords(e *Entry) string {
	var first []string
	if e.Common {
		first = append(first, CommonWord)
	}
	if e.Rare {
		first = append(first, RareWord)
	}
	return strings.Join(first, " ")
}

func (c *Corpus) countEngrams() {
	for i := range c.Entries {
		if e := &c.Entries[i]; e.Engram {
			c.Agents[e.Who].Engrams++
		}
	}
}

func (c *Corpus) writeIndex() error {
	return replaceFile(besides(c.Path), func(w *bufio.Writer) error {
		if err := writeStamp(w, stamp{Version, c.Size, c.Seed, c.Bytes}); err != nil {
			return err
		}
		var b []byte
		for i := range c.Entries {
			e := &c.Entries[i]
			marks := uint16(0)
			for bit, set := range map[uint16]bool{markEngram: e.Engram, markRare: e.Rare, markCommon: e.Common} {
				if set {
					marks |= bit
				}
			}
			b = append(b[:0], e.ID[:]...)
			b = binary.BigEndian.AppendUint64(b, uint64(e.CreatedAt))
			b = binary.BigEndian.AppendUint16(b, uint16(e.Who))
			b = binary.BigEndian.AppendUint16(b, marks)
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return nil
	})
}

// LoadCorpus reads the index of a corpus. The error is ErrNotPrepared if the
// cache does not hold it.
func LoadCorpus(cache string, size int, seed uint64) (*Corpus, error) {
	c, err := newCorpus(cache, size, seed)
	if err != nil {
		return nil, err
	}
	f, s, err := openStamped(c.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if s.Version != Version || s.Count != size || s.Seed != seed {
		return nil, fmt.Errorf("%s: %w: it is another corpus", c.Path, ErrNotPrepared)
	}
	c.Bytes, c.Entries = s.Bytes, make([]Entry, size)
	var b [recordSize]byte
	for i := range c.Entries {
		if _, err := io.ReadFull(f, b[:]); err != nil {
			return nil, fmt.Errorf("%s: %w: its index is cut", c.Path, ErrNotPrepared)
		}
		marks := binary.BigEndian.Uint16(b[42:])
		e := Entry{
			ID: ID(b[:32]), CreatedAt: int64(binary.BigEndian.Uint64(b[32:])), Who: int(binary.BigEndian.Uint16(b[40:])),
			Engram: marks&markEngram != 0, Rare: marks&markRare != 0, Common: marks&markCommon != 0,
		}
		if e.Who >= len(c.Authors) && !e.Engram || e.Who >= len(c.Agents) && e.Engram {
			return nil, fmt.Errorf("%s: %w: its index is damaged", c.Path, ErrNotPrepared)
		}
		c.Entries[i] = e
	}
	c.countEngrams()
	return c, nil
}

func writeStamp(w io.Writer, s stamp) error {
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// openStamped opens the file beside a file of events behind its stamp, if the
// events are as many bytes as it says.
func openStamped(path string) (*stamped, stamp, error) {
	var s stamp
	f, err := os.Open(besides(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s, fmt.Errorf("%s: %w", path, ErrNotPrepared)
	}
	if err != nil {
		return nil, s, fmt.Errorf("cache: %w", err)
	}
	r := &stamped{Reader: bufio.NewReaderSize(f, 1<<20), file: f}
	line, err := r.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &s)
	}
	if err != nil {
		f.Close()
		return nil, s, fmt.Errorf("%s: %w: its first line: %w", besides(path), ErrNotPrepared, err)
	}
	if events, err := os.Stat(path); err != nil || events.Size() != s.Bytes {
		f.Close()
		return nil, s, fmt.Errorf("%s: %w: it is not the %d bytes that were made", path, ErrNotPrepared, s.Bytes)
	}
	return r, s, nil
}

// stamped is a file behind its stamp.
type stamped struct {
	*bufio.Reader
	file *os.File
}

// Close closes the file.
func (s *stamped) Close() error { return s.file.Close() }
