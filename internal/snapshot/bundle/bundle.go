package bundle

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"filippo.io/age"

	"engramd/internal/protocol/wire"
)

// Bundle is a verified bundle, with the parents that it rests on.
type Bundle struct {
	ID, Path string
	Manifest *Manifest
	Report   *Report

	state      *State
	parent     *Bundle
	identities Identities
	maxLine    int
}

var _ Source = (*Bundle)(nil)

// Release gives the index of events free where Events can do without: a full
// bundle has each event once, and under its class. It can be nobody's parent
// afterwards.
func (b *Bundle) Release() {
	if b.parent == nil {
		b.state = nil
	}
}

// Events gives yield the JSON of every event of the class that the bundle
// stands for, once each: of a full bundle in its order, of an incremental one
// those of the oldest parent first. yield does not keep the bytes. What yield
// was given counts only if the error is nil: ErrChanged comes at the end, if a
// file is not what was verified.
func (b *Bundle) Events(ctx context.Context, class Class, yield func(eventJSON []byte) error) error {
	var chain []*Bundle
	for p := b; p != nil; p = p.parent {
		chain = append(chain, p)
	}
	slices.Reverse(chain)
	var given map[[32]byte]bool
	if len(chain) > 1 {
		given = map[[32]byte]bool{}
	}
	for _, p := range chain {
		err := p.lines(func(from Class, line []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if given == nil && from != class {
				return nil
			}
			if b.state == nil {
				return yield(line)
			}
			var id [32]byte
			if len(line) < wire.IDEnd {
				return ErrChanged
			}
			if _, err := hex.Decode(id[:], line[wire.IDStart:wire.IDEnd]); err != nil {
				return ErrChanged
			}
			if it, ok := b.state.items[id]; !ok || Class(it.class) != class || given[id] {
				return nil
			}
			if given != nil {
				given[id] = true
			}
			return yield(line)
		})
		if err != nil {
			return fmt.Errorf("snapshot %s: %w", p.ID, err)
		}
	}
	return nil
}

// lines calls fn with every line of the artifacts of events in this file.
func (b *Bundle) lines(fn func(Class, []byte) error) error {
	f, err := openRegular(b.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := &summer{h: sha256.New()}
	in := bufio.NewReaderSize(io.TeeReader(f, sum), 64<<10)
	plain := io.Reader(in)
	if b.Report.Encrypted {
		if plain, err = age.Decrypt(in, b.identities.keys...); err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
	}
	given, err := eachLine(plain, b.maxLine, fn)
	if given {
		return err
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if sum.n != b.Report.Size || hex.EncodeToString(sum.h.Sum(nil)) != b.Report.SHA256 {
		return ErrChanged
	}
	return nil
}

// eachLine reads a compressed tar. own says that the error is fn's.
func eachLine(in io.Reader, maxLine int, fn func(Class, []byte) error) (own bool, err error) {
	zr, err := newDecompressor(in)
	if err != nil {
		return false, err
	}
	defer zr.Close()
	tr := &tarReader{r: bufio.NewReaderSize(zr, 64<<10)}
	for {
		name, _, err := tr.next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, in)
			return false, err
		}
		if err != nil {
			return false, err
		}
		class := slices.IndexFunc(Classes(), func(c Class) bool { return c.Path() == name })
		if class < 0 {
			if _, err := io.Copy(io.Discard, tr); err != nil {
				return false, err
			}
			continue
		}
		lines := &lineReader{r: bufio.NewReaderSize(tr, 64<<10), max: maxLine}
		for {
			line, err := lines.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return false, err
			}
			if err := fn(Class(class), line); err != nil {
				return true, err
			}
		}
	}
}
