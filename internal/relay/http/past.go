package relayhttp

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// position is the header that says which number was the relay's last when
// everybody's history was asked for: what gets into history later has a greater
// one, or is a head now.
const position = "Engramd-Position"

// positionTime is the header that says the relay's time then.
const positionTime = "Engramd-Time"

// maxPastKinds bounds the kinds of one question.
const maxPastKinds = 64

// isPast reports whether a question for history goes on behind a number instead
// of naming an author.
func isPast(raw string) bool {
	values, err := url.ParseQuery(raw)
	return err == nil && values["after"] != nil && values["author"] == nil
}

// past streams everybody's superseded versions, for replicas.
func (b *bridge) past(c *call) error {
	q, err := pastQuery(c.URL.RawQuery)
	if err != nil {
		return refused(nip01.PrefixInvalid, err.Error())
	}
	now := strconv.FormatInt(b.in.signatures.clock().Unix(), 10) // before anything is read
	versions, at, err := b.backend.Past(c.Context(), q)
	if err != nil {
		return failed(err)
	}
	c.w.Header().Set(positionTime, now)
	c.w.Header().Set(position, strconv.FormatInt(at, 10))
	return b.stream(c, versions)
}

// pastQuery reads after, and kind, since, arrival and limit where they are given.
func pastQuery(raw string) (q relay.PastQuery, err error) {
	_, err = readParameters(raw, "the query string has an unknown parameter; without author it takes after, kind, since, arrival and limit", map[string]parameter{
		"after": number(63, "a number from 0 on", func(n uint64) { q.After = int64(n) }),
		"since": number(63, "a time in seconds", func(n uint64) { q.Since = new(int64(n)) }),
		"kind": {"up to " + strconv.Itoa(maxPastKinds) + " numbers from 0 to 65535, by commas", func(value string) bool {
			for text := range strings.SplitSeq(value, ",") {
				n, ok := plainNumber(text, 16)
				if !ok || len(q.Kinds) == maxPastKinds {
					return false
				}
				q.Kinds = append(q.Kinds, int(n))
			}
			slices.Sort(q.Kinds)
			q.Kinds = slices.Compact(q.Kinds)
			return true
		}},
		"arrival": choice(&q.Arrivals),
		"limit":   limit(&q.Limit),
	})
	return q, err
}

// truncated is the header, or the trailer of a streamed answer, that is "true"
// if a limit kept events back.
const truncated = "Engramd-Truncated"

// damaged is the header, or the trailer, that counts the events which an answer
// lacks because they are damaged here.
const damaged = "Engramd-Damaged"

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
		marks(hdr, events)
		held = endArray(held)
		c.yield(len(held))
		hdr.Set("Content-Length", strconv.Itoa(len(held)))
		return b.in.write(c, held)
	}
	hdr.Set("Trailer", truncated+", "+damaged)
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
	marks(hdr, events)
	return b.in.write(c, []byte("]\n"))
}

// marks says what an answer lacks.
func marks(hdr http.Header, events Rows) {
	if events.More() {
		hdr.Set(truncated, "true")
	}
	if list := events.Damaged(); len(list) > 0 {
		hdr.Set(damaged, strconv.Itoa(len(list)))
	}
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
