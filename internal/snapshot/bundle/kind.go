package bundle

import (
	"bufio"
	"fmt"
)

// Kind says how much of an agent's memory a bundle is.
type Kind string

// The kinds.
const (
	// KindWhole is all that the agent had.
	KindWhole Kind = "whole"
	// KindPartial was made while some relay did not answer in full.
	KindPartial Kind = "partial"
	// KindOwners is what one owner could read.
	KindOwners Kind = "owner's part"
	// KindEmpty holds no engram.
	KindEmpty Kind = "empty"
	// KindUnknown is that of an older bundle that nobody has looked into.
	KindUnknown Kind = ""
)

// String returns the kind for a person.
func (k Kind) String() string {
	if k == KindUnknown {
		return "kind unknown"
	}
	return string(k)
}

// EmptyRoot is HeadsRoot of no heads, in hex: the SHA-256 of nothing.
const EmptyRoot = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// ReadManifest reads the manifest of a bundle that is not encrypted, and
// verifies nothing.
func ReadManifest(path string) (*Manifest, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zr, err := newDecompressor(f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	defer zr.Close()
	tr := &tarReader{r: bufio.NewReader(zr)}
	name, size, err := tr.next()
	if err != nil || name != manifestName {
		return nil, fmt.Errorf("%w: it is not the first entry", ErrManifest)
	}
	b, err := readWhole(tr, name, size, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	return ParseManifest(b)
}
