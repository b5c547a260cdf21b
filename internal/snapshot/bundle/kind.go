package bundle

import (
	"bufio"
	"errors"
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

var (
	// ErrInvalid means that a bundle is not OK; Report.Err names the checks.
	ErrInvalid = errors.New("the snapshot does not verify")
	// ErrEmpty means that there is no engram to make a bundle of.
	ErrEmpty = errors.New("there is no memory to make a snapshot of")
	// ErrUntrusted means that nobody who is trusted signed a bundle.
	ErrUntrusted = errors.New("no trusted signature")
	// ErrLimit means that there is more than Limits allow.
	ErrLimit = errors.New("beyond the limits")
	// ErrChanged means that a file is not the one that was verified before.
	ErrChanged = errors.New("the snapshot was changed since it was verified")
)

// Names of the entries before the artifacts.
const (
	manifestName  = "manifest.json"
	signatureName = "manifest.sig"
)

// Limits bounds what reading a bundle may cost. The zero value of a field
// stands for its default.
type Limits struct {
	// Events is how many events the bundle and its parents may hold together;
	// about 250 bytes of memory are used for each. Default 1,000,000.
	Events int
	// Line is the greatest size of one event in bytes. Default 4 MiB.
	Line int
	// Chain is how many bundles an incremental one may rest on. Default 1,000.
	Chain int
}

const (
	maxManifest  = 8 << 20 // bytes
	maxSignature = 4 << 10
	maxArtifact  = 1<<33 - 1 // what the size field of a tar header can say
	maxWindow    = 8 << 20   // of zstd, as written
	maxOwners    = 65_536
	maxLabel     = 256 // bytes
	// MaxRecipients is how many keys one bundle is encrypted to at most.
	MaxRecipients = 256
)

func (l Limits) withDefaults() Limits {
	if l.Events <= 0 {
		l.Events = 1_000_000
	}
	if l.Line <= 0 {
		l.Line = 4 << 20
	}
	if l.Chain <= 0 {
		l.Chain = 1_000
	}
	return l
}
