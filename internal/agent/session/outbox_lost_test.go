package session

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/client/clienttest"
	"engramd/internal/client/memory"
	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// TestOutboxLostAnswer: what was sent from the outbox, and whose answer was lost, is not
// sent a second time onto the text that another session made from it.
func TestOutboxLostAnswer(t *testing.T) {
	var hoard clienttest.Hoard
	var down, armed atomic.Bool
	var lost atomic.Value // the id of the event
	var other func()
	url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok && !down.Load(); f, ok = c.Read() {
			switch {
			case f.Label == wire.LabelEvent && armed.CompareAndSwap(true, false):
				hoard.Put(f.Event)
				lost.Store(f.Event.ID)
				other()
				return
			case f.Label == wire.LabelEvent && f.Event.ID == lost.Load():
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "duplicate: a newer version is stored"))
				continue
			}
			hoard.Answer(c, f)
		}
	}})
	one, two := machineAt(t, url).session(), machineAt(t, url).session()
	setTo(t, one, "mem/x", "old", false)
	down.Store(true)
	appendTo(t, one, "mem/x", "NEW", true)
	down.Store(false)
	other = func() { appendTo(t, two, "mem/x", "theirs", false) }
	armed.Store(true)
	out, err := one.Outbox.Send(t.Context(), "")
	if err != nil || out.Written != 1 || out.Left+out.Apart+out.Rebased != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if got := body(t, two, "mem/x"); got != "old\nNEW\ntheirs" {
		t.Errorf("%q", got)
	}
}

// TestOutboxNeverStored: what was sent, and is at no relay, is made on a newer text as what
// was never sent is. Where that is not certain it is made on none.
func TestOutboxNeverStored(t *testing.T) {
	keeps := func(versions int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/history" {
				_, _ = io.WriteString(w, "[]")
				return
			}
			_, _ = fmt.Fprintf(w, `{"history":{"versions":%d,"days":365}}`, versions)
		}
	}
	for name, c := range map[string]struct {
		history http.HandlerFunc
		ahead   time.Duration
		sure    map[nipae.Slug]bool
	}{
		"a history":                 {keeps(100), 0, map[nipae.Slug]bool{"mem/x": true, "mem/expires": true}},
		"no history":                {nil, 0, nil},
		"a history of nothing":      {keeps(0), 0, nil},
		"a history that is full":    {keeps(1), 0, nil},
		"a history of what expires": {keeps(100), time.Hour + time.Second, map[nipae.Slug]bool{"mem/x": true}},
	} {
		t.Run(name, func(t *testing.T) {
			url := clienttest.Start(t, &clienttest.Fake{Serve: (&clienttest.Hoard{}).Serve, HTTP: c.history})
			var ahead time.Duration
			var said []string
			s, other := agedAt(t, t.TempDir(), t.TempDir(), &ahead, &said, url), agedAt(t, t.TempDir(), t.TempDir(), &ahead, &said, url)
			set := func(s *Session, slug nipae.Slug, text string, o memory.SetOptions, queued bool) {
				t.Helper()
				if _, status, err := s.Memory.Set(t.Context(), slug, text, o); err != nil || status.Queued != queued {
					t.Fatal(status, err)
				}
			}
			at := time.Now().Add(time.Hour).Unix()
			later := at + 30*24*3600
			for slug, expires := range map[nipae.Slug][2]int64{"mem/x": {}, "mem/expires": {at, later}} {
				set(s, slug, "old", memory.SetOptions{Expires: memory.Expiry{At: expires[0]}}, false)
				set(s, slug, "old\nmine", memory.SetOptions{Later: &memory.Later{Append: "mine", Silent: true}}, true)
				set(other, slug, "old\ntheirs", memory.SetOptions{Expires: memory.Expiry{At: expires[1]}}, false)
			}
			all, err := s.Outbox.All(t.Context())
			if err == nil {
				err = s.Outbox.state(t.Context()).Outbox.Signed(t.Context(), strings.Repeat("ab", 32), ids(all)...)
			}
			if err != nil {
				t.Fatal(err)
			}
			ahead = c.ahead
			out := sent(t, s)
			if kept := 2 - len(c.sure); out.Written != len(c.sure) || out.Rebased != len(c.sure) || out.Apart+out.Left != kept {
				t.Errorf("%+v", out)
			}
			for _, slug := range []nipae.Slug{"mem/x", "mem/expires"} {
				want := map[bool]string{true: "old\ntheirs\nmine", false: "old\ntheirs"}[c.sure[slug]]
				if got := body(t, other, slug); got != want {
					t.Errorf("%s: %q, want %q", slug, got, want)
				}
			}
			if e, _, err := other.Memory.Get(t.Context(), "mem/expires"); err != nil || e.Expires != later {
				t.Errorf("expires %d, want %d, %v", e.Expires, later, err)
			}
		})
	}
}
