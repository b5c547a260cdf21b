package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

const (
	blockSize = 512
	// Every entry bears the same time, 1980-01-01, which no tar finds odd.
	entryTime = 315532800
)

// errEntry is what every error about the entries of the tar is.
var errEntry = errors.New("not the entries of a snapshot")

// entryHeader returns the one header that an entry of this name and size has:
// POSIX ustar, a regular file, mode 0600, no owner.
func entryHeader(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: time.Unix(entryTime, 0), Format: tar.FormatUSTAR}
}

// tarHeader returns the header's block; zeros for one that cannot be.
func tarHeader(name string, size int64) (h [blockSize]byte) {
	var b bytes.Buffer
	if tar.NewWriter(&b).WriteHeader(entryHeader(name, size)) == nil {
		copy(h[:], b.Bytes())
	}
	return h
}

// writeEntry writes a header and what content writes, which must be size bytes.
func writeEntry(w *tar.Writer, name string, size int64, content func(io.Writer) error) error {
	if err := w.WriteHeader(entryHeader(name, size)); err != nil {
		return err
	}
	if err := content(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("%s: not %d bytes: %w", name, size, err)
	}
	return nil
}

// tarReader reads the headers that tarHeader makes, and nothing else: neither
// extensions nor any type but a regular file are understood.
type tarReader struct {
	r    io.Reader
	left int64 // of the entry's content
	pad  int64
}

// next returns the name and size of the next entry, io.EOF at a proper end. The
// content of the one before must have been read.
func (t *tarReader) next() (string, int64, error) {
	if t.left > 0 {
		return "", 0, fmt.Errorf("%w: an entry was not read to its end", errEntry)
	}
	if err := t.skipPadding(); err != nil {
		return "", 0, err
	}
	var h [blockSize]byte
	if _, err := io.ReadFull(t.r, h[:]); err != nil {
		return "", 0, cutShort(err)
	}
	if h == [blockSize]byte{} {
		return "", 0, t.readEnd()
	}
	name, _, _ := bytes.Cut(h[:100], []byte{0})
	size, ok := octal(h[124:136])
	if !ok || tarHeader(string(name), size) != h {
		return "", 0, explainHeader(h, string(name), ok)
	}
	t.left, t.pad = size, -size&(blockSize-1)
	return string(name), size, nil
}

// Read reads the content of the entry.
func (t *tarReader) Read(p []byte) (int, error) {
	if t.left == 0 {
		return 0, io.EOF
	}
	n, err := t.r.Read(p[:min(int64(len(p)), t.left)])
	t.left -= int64(n)
	if err != nil && t.left > 0 {
		return n, cutShort(err)
	}
	return n, nil
}

func (t *tarReader) skipPadding() error {
	var pad [blockSize]byte
	b := pad[:t.pad]
	t.pad = 0
	if _, err := io.ReadFull(t.r, b); err != nil && len(b) > 0 {
		return cutShort(err)
	}
	if pad != [blockSize]byte{} {
		return fmt.Errorf("%w: data behind the end of an entry", errEntry)
	}
	return nil
}

// readEnd reads the second of the two zero blocks and that nothing follows.
func (t *tarReader) readEnd() error {
	var h [blockSize]byte
	if _, err := io.ReadFull(t.r, h[:]); err != nil {
		return cutShort(err)
	}
	if h != [blockSize]byte{} {
		return fmt.Errorf("%w: data behind the end of the archive", errEntry)
	}
	n, err := io.ReadFull(t.r, h[:1])
	if n > 0 {
		return fmt.Errorf("%w: data behind the end of the archive", errEntry)
	}
	return err // io.EOF, or what is wrong below
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the archive is cut short", errEntry)
	}
	return err
}

// octal reads the 11 digits and the zero byte of a size field.
func octal(b []byte) (int64, bool) {
	var n int64
	for _, c := range b[:11] {
		if c < '0' || c > '7' {
			return 0, false
		}
		n = n<<3 | int64(c-'0')
	}
	return n, b[11] == 0
}

// explainHeader reports what is wrong with a header that tarHeader did not
// make.
func explainHeader(h [blockSize]byte, name string, sizeOK bool) error {
	reason := "a header that a snapshot does not have"
	switch typ := h[156]; {
	case name == "":
		reason = "it has no name"
	case typ == '1' || typ == '2':
		reason = "it is a link"
	case typ != '0':
		reason = fmt.Sprintf("it is not a regular file (type %q)", typ)
	case strings.HasPrefix(name, "/"):
		reason = "its path is absolute"
	case unsafePath(name):
		reason = "its path leads out of the archive"
	case !sizeOK:
		reason = "its size is beyond every bound"
	}
	return fmt.Errorf("%w: entry %.100q: %s", errEntry, name, reason)
}

// explainName reports why an entry of this name is refused.
func explainName(name, want string) error {
	switch {
	case strings.HasPrefix(name, "/"):
		return fmt.Errorf("%w: entry %.100q: its path is absolute", errEntry, name)
	case unsafePath(name):
		return fmt.Errorf("%w: entry %.100q: its path leads out of the archive", errEntry, name)
	}
	return fmt.Errorf("%w: entry %.100q where %s belongs: unknown, double or out of order", errEntry, name, want)
}

func unsafePath(name string) bool {
	return slices.Contains(strings.Split(name, "/"), "..")
}
