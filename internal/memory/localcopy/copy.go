package localcopy

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"engramd/internal/platform/files"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
	"engramd/nips/nipae"
)

// ErrPair is a pair that is none.
var ErrPair = errors.New("not a pair of keys")

// Pair is whose memory a copy holds.
type Pair struct {
	Agent, Owner string // public keys, 64 lower-case hex digits
	Conversation nipae.ConversationKey
	// Reversed is what an owner writes to his agent: proposals and answers to
	// them are kept, and what else can be read is rejected.
	Reversed bool
}

// Options say where a copy lies. The zero value is the user's cache folder.
type Options struct {
	// Dir is the folder of all copies; "" is Dir().
	Dir string
	// NoDisk keeps the copy in memory; nothing is read from or written to a
	// disk.
	NoDisk bool
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Warn is told in one line that a file could not be used and a new one
	// begins; nil drops it.
	Warn func(string)
	// AsOwner hides heads of which no relay shows anything: the agent may have deleted
	// them, which its owner is not told.
	AsOwner bool
	// MaxBytes bounds the file; 0 is without a bound.
	MaxBytes int64
}

// Dir returns the folder in which copies lie if nobody says otherwise: engramd
// in the user's cache folder, $XDG_CACHE_HOME where that is used.
func Dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the local copy has no place: %w", err)
	}
	return filepath.Join(cache, "engramd"), nil
}

// Copy is an open local copy. Any number of goroutines may use it.
type Copy struct {
	codec   codec
	address func(slug string) [32]byte
	open    opener
	now     func() time.Time
	file    *sealedfile.File

	// mu guards what follows: shared to read the index, alone to change it.
	mu sync.RWMutex
	indexed
	sealed time.Time // when the index was last kept, or tried to be
}

// indexed is the index of a copy, up to a change of its file.
type indexed struct {
	seal     sealer
	asOwner  bool          // see Options.AsOwner
	index    *recall.Index // nil: not loaded
	round    int           // of the file that it is of
	at       int64         // the change up to which the index is
	outdated bool          // the kept index is of another version
}

// LogValue implements slog.LogValuer: a copy holds keys and texts.
func (m *Copy) LogValue() slog.Value { return slog.StringValue("mirror") }

// keepAside is how many files that could not be used stay.
const keepAside = 2

// Open opens the copy of a pair, or begins an empty one. A file that is
// damaged, or of another pair, is moved aside first; one of a later version is left
// as it is (sealedfile.ErrNewer). The caller
// closes the copy.
func Open(ctx context.Context, p Pair, o Options) (*Copy, error) {
	for _, key := range []string{p.Agent, p.Owner} {
		if _, ok := decodeID(key); !ok {
			return nil, fmt.Errorf("%w: two public keys of 64 lower-case hex digits are needed", ErrPair)
		}
	}
	keys, err := keysOf(p)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	path := ""
	if !o.NoDisk {
		if o.Dir == "" {
			if o.Dir, err = Dir(); err != nil {
				return nil, err
			}
		}
		path = filepath.Join(o.Dir, keys.name+".mirror")
	}
	m := &Copy{codec: codec{p.Agent, p.Owner}, now: o.Now, indexed: indexed{asOwner: o.AsOwner, seal: sealer{func() []byte { return keys.mac[:] }}}, sealed: o.Now()}
	m.open, m.address = openerOf(p), addressOf(p)
	m.file, err = sealedfile.Open(ctx, path, keys.file, sealedfile.Options{
		What: "the local copy", Application: application, Schema: schema, RefuseNewer: true, Keep: keepAside, MaxBytes: o.MaxBytes, Warn: o.Warn, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// OnDisk reports whether what is kept outlasts the process.
func (m *Copy) OnDisk() bool { return m.file.Path() != "" }

// Close keeps the index, if much has changed since it was kept, and ends the
// copy's use.
func (m *Copy) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	// An index that is not kept is made anew: no failure of closing.
	_ = keepIndex(ctx, m, worthClosing)
	return m.file.Close()
}

// Leave ends the copy's use at once, and leaves the index as it was kept.
func (m *Copy) Leave() error { return m.file.Close() }

// closeTime is the longest that Close works on the index.
const closeTime = 30 * time.Second

// keys are what is derived from a pair, each for one use.
type keys struct {
	file, mac [32]byte
	name      string
}

// label names what keys are derived for. Both parties have the same conversation
// key, and a pair may be turned around: who is the agent belongs to each key.
const label = "engramd/mirror/v1"

func keysOf(p Pair) (keys, error) {
	var k keys
	derive := func(use string, size int) ([]byte, error) {
		if p.Reversed {
			use += "/reversed" // another file than that of the keys before it was known
		}
		out, err := hkdf.Key(sha256.New, p.Conversation[:], nil, label+use+"\x00"+p.Agent+"\x00"+p.Owner, size)
		if err != nil {
			return nil, fmt.Errorf("derive the keys of the local copy: %w", err)
		}
		return out, nil
	}
	file, err := derive("", len(k.file))
	if err != nil {
		return k, err
	}
	mac, err := derive("/mac", len(k.mac))
	if err != nil {
		return k, err
	}
	name, err := derive("/name", 16)
	if err != nil {
		return k, err
	}
	copy(k.file[:], file)
	copy(k.mac[:], mac)
	k.name = hex.EncodeToString(name)
	return k, nil
}

func (m *Copy) read(ctx context.Context, do func(*sealedfile.Tx) error) error {
	return m.file.Mended(ctx, func() error { return m.file.Read(ctx, do) })
}

func alter(ctx context.Context, m *Copy, do func(*sealedfile.Tx) error) error {
	return m.file.Mended(ctx, func() error { return m.file.Write(ctx, do) })
}

// damaged is an error that says what does not hold.
func damaged(what string) error {
	return fmt.Errorf("%w: %s is not what was written", sealedfile.ErrDamaged, what)
}

// Exists reports whether a folder has a copy of a pair: whoever has one thing
// to note need not begin a copy for that.
func Exists(p Pair, dir string) (bool, error) {
	keys, err := keysOf(p)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join(dir, keys.name+".mirror"))
	if files.Missing(err) {
		return false, nil
	}
	return err == nil, err
}
