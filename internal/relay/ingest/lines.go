package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
)

const (
	maxLine    = 8 << 20 // bytes of one line; the largest event is far below
	batchLines = 2048    // their signatures are checked together; the more, the cheaper
	batchBytes = 2 << 20 // without the last line
)

// batch is some consecutive lines on their way through a worker.
type batch struct {
	items []item
	done  chan struct{} // closed when every item is parsed
}

// item is one line: its event, or why it is not stored.
type item struct {
	line    int64
	text    []byte
	event   *nostr.Event
	refusal string
	author  string // of a refused line, if it names one
	over    bool   // refused only because it has expired (NIP-40)
	pending store.Pending
}

// readLines cuts the input into batches and hands each to the workers and, in
// order, to begin.
func readLines(ctx context.Context, in io.Reader, work, ordered chan<- *batch) error {
	r := bufio.NewReaderSize(in, batchBytes)
	b, size := &batch{done: make(chan struct{})}, 0
	flush := func() bool {
		if len(b.items) == 0 {
			return true
		}
		for _, ch := range []chan<- *batch{work, ordered} {
			select {
			case ch <- b:
			case <-ctx.Done():
				return false
			}
		}
		b, size = &batch{done: make(chan struct{})}, 0
		return true
	}
	for line := int64(1); ; line++ {
		text, tooLong, err := readLine(r)
		if tooLong {
			b.items = append(b.items, item{line: line, refusal: fmt.Sprintf("invalid: the line is longer than %d bytes", maxLine)})
		} else if len(bytes.TrimSpace(text)) > 0 {
			b.items = append(b.items, item{line: line, text: text})
			size += len(text)
		}
		if len(b.items) >= batchLines || size >= batchBytes || err != nil || r.Buffered() == 0 {
			if !flush() {
				return nil // ctx says why
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: read: %w", line, err)
		}
	}
}

// readLine returns one line without its line feed. It reads a line over maxLine
// to its end and drops it.
func readLine(r *bufio.Reader) (text []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(text)+len(part) > maxLine {
			tooLong, text = true, nil
		}
		if !tooLong {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(text, "\r\n"), tooLong, err
		}
	}
}
