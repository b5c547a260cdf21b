package relayhttp

import (
	"fmt"
	"strconv"

	"engramd/internal/relay/store"
)

// truncated is the header, or the trailer of a streamed answer, that is "true"
// if a limit kept events back.
const truncated = "Engramd-Truncated"

const (
	pageRows  = 128       // events read from the store at once
	pageBytes = 256 << 10 // and their JSON
	heldBytes = 256 << 10 // an answer up to about this size is sent in one piece
	chunk     = 32 << 10  // must reach the client, or its kernel, within one stall
)

// stream answers with an array of events. An answer that fits into heldBytes is
// complete before its first byte leaves, so that a failure still has a status
// and the header says whether a limit cut it. The rest of a larger one is read
// as fast as the client takes it, without holding anything open in the store or
// keeping a place that others wait for. An error after the first byte ends the
// connection, so that the array never ends.
func (b *bridge) stream(c *call, events Rows) error {
	var held []byte
	done := false
	for !done && len(held) < heldBytes {
		rows, end, err := events.Next(c.Context(), pageRows, pageBytes)
		if err != nil {
			return b.failure(c, err)
		}
		held, done = appendRows(held, rows), end
	}
	hdr := c.w.Header()
	hdr.Set("Content-Type", "application/json")
	hdr.Set("X-Content-Type-Options", "nosniff")
	if done {
		if events.More() {
			hdr.Set(truncated, "true")
		}
		held = endArray(held)
		c.yield(len(held))
		hdr.Set("Content-Length", strconv.Itoa(len(held)))
		return b.in.write(c, held)
	}
	hdr.Set("Trailer", truncated)
	free := c.yield(cap(held))
	if err := b.in.write(c, held); err != nil {
		return err
	}
	for !done {
		if err := c.again(); err != nil {
			return fmt.Errorf("wait for a place: %w", err)
		}
		rows, end, err := events.Next(c.Context(), pageRows, pageBytes)
		if err != nil {
			return b.failure(c, err)
		}
		held, done = appendRows(append(held[:0], ','), rows), end
		if len(rows) == 0 {
			held = held[:0]
		}
		if free {
			c.pause()
		}
		if err := b.in.write(c, held); err != nil {
			return err
		}
	}
	if events.More() {
		hdr.Set(truncated, "true")
	}
	return b.in.write(c, []byte("]\n"))
}

// appendRows appends events to an array, and begins it if text is empty.
func appendRows(text []byte, rows []store.Row) []byte {
	for _, row := range rows {
		switch {
		case len(text) == 0:
			text = append(text, '[')
		case text[len(text)-1] != ',':
			text = append(text, ',')
		}
		text = append(text, row.JSON...)
	}
	return text
}

// endArray ends the array that appendRows began; without rows it is the empty
// array.
func endArray(text []byte) []byte {
	if len(text) == 0 {
		text = append(text, '[')
	}
	return append(text, "]\n"...)
}

// write sends text in pieces. Every piece must be taken within one stall.
func (in *intake) write(c *call, text []byte) error {
	for len(text) > 0 {
		piece := text[:min(len(text), chunk)]
		in.renew(c.w)
		if _, err := c.w.Write(piece); err != nil {
			return fmt.Errorf("write to the client: %w", err)
		}
		text = text[len(piece):]
	}
	return nil
}
