package bundle

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// newCompressor returns the compressor of all bundles: one thread, one level,
// one window, so that equal input gives equal output.
func newCompressor(w io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(w,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(zstd.SpeedDefault),
		zstd.WithWindowSize(1<<20),
		zstd.WithEncoderCRC(true),
		zstd.WithLowerEncoderMem(true))
}

// newDecompressor reads what newCompressor wrote, within bounds: a window that
// is larger than any of ours is refused before memory is taken for it.
func newDecompressor(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderMaxMemory(maxWindow))
}

// layer remembers the first error that its reader gave, so that a fault can be
// told from one in the layers above.
type layer struct {
	r   io.Reader
	err error
}

func (l *layer) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && l.err == nil {
		l.err = err
	}
	return n, err
}

// lineReader cuts an artifact into lines of bounded length.
type lineReader struct {
	r   *bufio.Reader
	max int
	buf []byte
}

// errLine means that an artifact is not made of lines of bounded length.
var errLine = errors.New("not a line of bounded length")

// next returns the next line without its line feed; io.EOF after the last. The
// line is valid until the next call.
func (l *lineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(part) > l.max+1 {
			return nil, fmt.Errorf("%w: more than %d bytes: %w", errLine, l.max, ErrLimit)
		}
		switch {
		case err == nil && len(l.buf) == 0:
			return part[:len(part)-1], nil
		case err == nil:
			l.buf = append(l.buf, part...)
			return l.buf[:len(l.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.buf = append(l.buf, part...)
		case errors.Is(err, io.EOF) && len(l.buf)+len(part) > 0:
			return nil, fmt.Errorf("%w: the last one has no line feed", errLine)
		default:
			return nil, err
		}
	}
}
