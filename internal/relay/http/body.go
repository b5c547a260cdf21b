package relayhttp

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"engramd/nips/nip01"
)

const (
	maxBody   = 1 << 20  // the largest body of a request
	smallBody = 64 << 10 // up to this size a body has little time; smaller ones are charged as this
)

// unreadTimeout is how long the unread rest of a body may take to arrive, so
// that a client that sends it first sees the answer.
const unreadTimeout = time.Second

// expectNoBody announces that the connection ends with the answer, because the
// server does not wait for the body. Code that reads the body to its end takes
// that back.
func expectNoBody(w http.ResponseWriter) { w.Header().Set("Connection", "close") }

// leaveBody bounds how long the server waits for a body that was not read.
func leaveBody(w http.ResponseWriter) {
	if w.Header().Get("Connection") == "close" {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadTimeout)) // a recorder in tests has none
	}
}

// readBody reads the body of a request before the request has a place: a slow
// client holds bytes of its share, for a bounded time, and nothing else.
func (in *intake) readBody(c *call, most int) error {
	r := c.Request
	switch {
	case r.ContentLength == 0:
		return nil
	case r.ContentLength > int64(most):
		return tooLarge(most)
	}
	patience := c.limits.LargeBody
	if r.ContentLength > 0 && r.ContentLength <= smallBody {
		patience = c.limits.SmallBody
	}
	control := http.NewResponseController(c.w)
	_ = control.SetReadDeadline(time.Now().Add(patience)) // a recorder in tests has none
	src := http.MaxBytesReader(c.w, r.Body, int64(most))
	for size := int64(smallBody); ; size *= 2 {
		if r.ContentLength > 0 {
			size = max(r.ContentLength, smallBody)
		}
		if !c.hold(size) {
			in.metrics.HTTP.HTTPRefused("bytes")
			return refused(nip01.PrefixRateLimited, "too many bytes of requests at once; retry in 1s")
		}
		if c.body == nil && r.ContentLength > 0 {
			c.body = make([]byte, 0, r.ContentLength)
		}
		switch whole, err := c.fill(src, size); {
		case err != nil:
			return in.brokenBody(err, most)
		case !whole:
			continue
		}
		// The deadline was for the body. Left in place, it would end an answer
		// that takes longer. The connection may be used again.
		_ = control.SetReadDeadline(time.Time{})
		c.w.Header().Del("Connection")
		return nil
	}
}

// fill reads until the body has size bytes, and reports whether it ended
// before.
func (c *call) fill(src io.Reader, size int64) (whole bool, err error) {
	for int64(len(c.body)) <= size {
		if len(c.body) == cap(c.body) {
			c.body = append(c.body, 0)[:len(c.body)]
		}
		n, err := src.Read(c.body[len(c.body):cap(c.body)])
		c.body = c.body[:len(c.body)+n]
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func (in *intake) brokenBody(err error, most int) error {
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge(most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		in.metrics.HTTP.HTTPRefused("slow")
		return refused(nip01.PrefixInvalid, "the body did not arrive in time")
	}
	return refused(nip01.PrefixInvalid, "the body did not arrive as announced")
}
