package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/apart"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// agedAt is openedAt with a clock that is ahead, and with what the session says.
func agedAt(t *testing.T, cache, state string, ahead *time.Duration, said *[]string, relays ...string) *Session {
	t.Helper()
	o := openedAt(t, cache, state, relays...).o
	o.Client.Clock = func() time.Time { return time.Now().Add(*ahead) }
	o.Note = func(line string) { *said = append(*said, line) }
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestExpiredIsNotLost: what has expired is found by no reader, and none calls it behind or
// lost; it is sent nowhere again, and its slug begins anew.
func TestExpiredIsNotLost(t *testing.T) {
	for _, drops := range []bool{true, false} { // without NIP-40 the relay goes on showing it
		for _, own := range []bool{true, false} {
			name := map[bool]string{true: "dropped", false: "shown still"}[drops] + ", " + map[bool]string{true: "written here", false: "written elsewhere"}[own]
			t.Run(name, func(t *testing.T) {
				relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
				var ahead time.Duration
				var said []string
				open := func() *Session { return agedAt(t, cache, state, &ahead, &said, relay.url) }
				at := time.Now().Add(time.Hour).Unix()
				writer := open()
				if !own {
					writer = agedAt(t, t.TempDir(), t.TempDir(), &ahead, &said, relay.url)
				}
				for slug, expires := range map[nipae.Slug]int64{"mem/gone": at, "mem/stays": 0} {
					e, _, err := writer.Memory.Set(t.Context(), slug, "text", memory.SetOptions{Expires: memory.Expiry{At: expires}})
					if err != nil || e.Expires != expires {
						t.Fatal(e, err)
					}
				}
				writer.Close()
				slugs := func(s *Session) (all []string, status client.Status) {
					t.Helper()
					l, status, err := s.Memory.ReadAll(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range l.Texts() {
						all = append(all, string(e.Slug))
					}
					return all, status
				}
				both, one := []string{"mem/gone", "mem/stays"}, []string{"mem/stays"}
				s := open()
				looks(t, open())
				if all, _ := slugs(s); !slices.Equal(all, both) {
					t.Fatalf("before: %v", all)
				}
				sent := relay.has.Load().Count()
				ahead = time.Hour + time.Second
				if drops {
					left := slices.DeleteFunc(relay.has.Load().All(), func(ev *nostr.Event) bool { _, yes := nipae.Expiration(ev); return yes })
					relay.empty()
					relay.has.Load().Put(left...)
					sent--
				}
				s = open()
				if _, status, err := s.Memory.Read(t.Context(), "mem/gone"); !errors.Is(err, client.ErrNotFound) || status.Behind > 0 {
					t.Errorf("read: %+v %v", status, err)
				}
				if _, _, err := s.Memory.Log(t.Context(), "mem/gone"); !errors.Is(err, client.ErrNotFound) {
					t.Errorf("log: %v", err)
				}
				if all, status := slugs(s); !slices.Equal(all, one) || status.Behind+status.Withheld > 0 || status.Partial {
					t.Errorf("list: %v %+v", all, status)
				}
				if err := s.WithCopy(t.Context(), relaytest.Patience, func(ctx context.Context, l *Copy) error {
					if there, err := l.Unshown(ctx); err != nil || there.All() > 0 || !slices.Equal(held(t, l.Copy), one) {
						t.Errorf("the copy: %v, %+v, %v", held(t, l.Copy), there, err)
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				s.Close()
				repair(t, open(), func(ctx context.Context, r *Repair) {
					if len(r.Missing) > 0 {
						t.Errorf("repair would send %+v", r.Missing[0])
					}
				})
				if n := relay.has.Load().Count(); n != sent {
					t.Errorf("the relay has %d events, had %d", n, sent)
				}
				relay.silent.Store(true) // this machine answers alone
				s = open()
				if _, status, err := s.Memory.Read(t.Context(), "mem/gone"); err == nil {
					t.Errorf("without a relay: %+v", status)
				}
				relay.silent.Store(false)
				e, _, err := open().Memory.Set(t.Context(), "mem/gone", "anew", memory.SetOptions{Base: memory.BaseNone})
				if err != nil || e.Expires != 0 {
					t.Errorf("written again: %+v %v", e, err)
				}
			})
		}
	}
}

// TestExpiredWhileItWaited: a write that expired before a relay answered is dropped, and
// told once; what was written onto it went with it.
func TestExpiredWhileItWaited(t *testing.T) {
	relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
	var ahead time.Duration
	var said []string
	open := func() *Session { return agedAt(t, cache, state, &ahead, &said, relay.url) }
	relay.silent.Store(true)
	s := open()
	at := memory.Expiry{At: time.Now().Add(time.Hour).Unix()}
	later := func() memory.SetOptions { return memory.SetOptions{Later: &memory.Later{}} }
	w := s.Memory.Writer(t.Context())
	if r, err := w.Write(t.Context(), "mem/gone", write.Draft{Text: "one", Fields: write.Fields{Expires: at}}, later()); err != nil || !r.Status.Queued {
		t.Fatal(r.Status, err)
	}
	if r, err := w.Append(t.Context(), "mem/gone", "two", later()); err != nil || r.Expires != at.At {
		t.Fatal(r.Entry, err)
	}
	if _, err := w.AddNote(t.Context(), s.Memory, write.Note{Text: "three", Expires: at.At, Later: true}, nil); err != nil {
		t.Fatal(err)
	}
	if r, err := w.Write(t.Context(), "mem/stays", write.Draft{Text: "four"}, later()); err != nil || !r.Status.Queued {
		t.Fatal(r.Status, err)
	}
	if e, _, err := s.Memory.Read(t.Context(), "mem/gone"); err != nil || e.Expires != at.At || !strings.Contains(e.Text, "two") {
		t.Fatal(e, err)
	}
	s.Close()
	ahead, said = time.Hour+time.Second, nil
	relay.silent.Store(false)
	s = open()
	if sent, err := s.Outbox.Send(t.Context(), ""); err != nil || sent.Written != 1 || sent.Left != 0 {
		t.Errorf("%+v %v", sent, err)
	}
	if n := strings.Count(strings.Join(said, "\n"), "has expired, and is dropped"); n != 3 {
		t.Errorf("said %d times: %q", n, said)
	}
	for _, ev := range relay.has.Load().All() {
		if _, expires := nipae.Expiration(ev); expires {
			t.Error("what had expired was sent")
		}
	}
	if _, _, err := s.Memory.Read(t.Context(), "mem/gone"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// TestExtendedWhileItWaited: a write that waits has the time of the memory as that is when
// it is sent. It is not dropped if that was put off elsewhere, nor if the memory is gone.
func TestExtendedWhileItWaited(t *testing.T) {
	for name, put := range map[string]time.Duration{"put off": 30 * 24 * time.Hour, "gone": 0} {
		t.Run(name, func(t *testing.T) {
			relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
			var ahead time.Duration
			var said []string
			open := func() *Session { return agedAt(t, cache, state, &ahead, &said, relay.url) }
			other := agedAt(t, t.TempDir(), t.TempDir(), &ahead, &said, relay.url)
			at := time.Now().Add(time.Hour).Unix()
			set := func(text string, at int64) {
				t.Helper()
				if _, _, err := other.Memory.Set(t.Context(), "mem/x", text, memory.SetOptions{Expires: memory.Expiry{At: at}}); err != nil {
					t.Fatal(err)
				}
			}
			set("list", at)
			looks(t, open())
			ahead = 5 * time.Second
			if put > 0 {
				set("list two", at+int64(put/time.Second))
			}
			relay.silent.Store(true)
			s := open()
			r, err := s.Memory.Writer(t.Context()).Append(t.Context(), "mem/x", "what matters", memory.SetOptions{Later: &memory.Later{}})
			if err != nil || !r.Status.Queued || r.Expires != at {
				t.Fatal(r.Status, r.Expires, err)
			}
			ahead = time.Hour + time.Second
			if e, _, err := s.Memory.Read(t.Context(), "mem/x"); err == nil {
				t.Errorf("no relay answers, and its time is over: %q", e.Text)
			}
			s.Close()
			relay.silent.Store(false)
			s = open()
			out, err := s.Outbox.Send(t.Context(), "")
			e, _, readErr := s.Memory.Read(t.Context(), "mem/x")
			if put > 0 {
				if err != nil || out.Rebased != 1 || out.Left > 0 || readErr != nil || !strings.Contains(e.Text, "list two") || !strings.Contains(e.Text, "what matters") {
					t.Errorf("%+v %v; %q %v", out, err, e.Text, readErr)
				}
				return
			}
			waits, allErr := s.Outbox.All(t.Context())
			if err != nil || allErr != nil || out.Left != 1 || len(waits) != 1 || !strings.Contains(waits[0].Text, "what matters") || waits[0].Reason != errGone.Error() {
				t.Errorf("%+v %v; %+v %v", out, err, waits, allErr)
			}
			if !errors.Is(readErr, client.ErrNotFound) {
				t.Errorf("%q %v", e.Text, readErr)
			}
			beginsAnew(t, relay, s, waits[0])
		})
	}
}

// beginsAnew: behind a write to mem/x that waits for ever others go on, and it stays as it
// is until it is given up.
func beginsAnew(t *testing.T, relay *frail, s *Session, gone Waiting) {
	t.Helper()
	relay.silent.Store(true)
	if _, _, err := s.Memory.Remove(t.Context(), "mem/x", false); !errors.Is(err, ErrWaits) {
		t.Errorf("removed while no relay answers: %v", err)
	}
	if _, _, err := s.Memory.Set(t.Context(), "mem/x", "onto it", memory.SetOptions{Base: client.Hash(gone.Text), Later: &memory.Later{}}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("onto what is gone: %v", err)
	}
	appendTo(t, s, "mem/x", "anew", true)
	appendTo(t, s, "mem/x", "and on", true)
	if e, status, err := s.Memory.Read(t.Context(), "mem/x"); err != nil || !status.Queued || e.Expires != 0 || write.Body("mem/x", e.Text) != "anew\nand on" {
		t.Errorf("while it waits: %q, %+v, %v", e.Text, status, err)
	}
	if l, _, err := s.Memory.ReadAll(t.Context()); err != nil || len(l.Memories) != 1 || write.Body("mem/x", l.Memories[0].Text) != "anew\nand on" {
		t.Errorf("listed while it waits: %+v, %v", l.Memories, err)
	}
	relay.silent.Store(false)
	if out := sent(t, s); out.Written != 1 || out.Left != 1 || out.Apart+out.Rebased != 0 {
		t.Errorf("%+v", out)
	}
	appendTo(t, s, "mem/x", "at once", false)
	if out := sent(t, s); out.Written+out.Apart != 0 || out.Left != 1 {
		t.Errorf("again: %+v", out)
	}
	if e, _, err := s.Memory.Get(t.Context(), "mem/x"); err != nil || e.Expires != 0 || write.Body("mem/x", e.Text) != "anew\nand on\nat once" {
		t.Errorf("%q, expires %d, %v", e.Text, e.Expires, err)
	}
	if _, _, err := s.Memory.Remove(t.Context(), "mem/x", false); err != nil {
		t.Errorf("removed: %v", err)
	}
	if waits, err := s.Outbox.All(t.Context()); err != nil || len(waits) != 1 || waits[0].ID != gone.ID || waits[0].Reason != errGone.Error() {
		t.Errorf("%+v, %v", waits, err)
	}
	if err := s.Outbox.Drop(t.Context(), gone.ID); err != nil || len(waiting(t, s)) != 0 {
		t.Errorf("given up: %v, %q wait", err, waiting(t, s))
	}
}

// TestExpiredBehindOthers: of what waits at a slug only that is dropped which asked for the
// time that is over, or was written onto it; and nothing that may have been sent, before
// that is known.
func TestExpiredBehindOthers(t *testing.T) {
	stored := planted("mem/x", time.Now().Unix()-60)
	for name, c := range map[string]struct {
		base string // is there
		sent string // all of it was sent as this
		has  bool   // the relay, that event
		want string // is there afterwards
		told int    // were dropped
	}{
		"never sent":                      {want: "words", told: 2},
		"never sent, onto another":        {base: "base", want: "base\nwords", told: 2},
		"sent, and what was there is not": {sent: stored.ID, told: 3},
		"sent, and what was there is":     {base: "base", sent: stored.ID, want: "base\nwords", told: 2},
		"stored":                          {sent: stored.ID, has: true, want: "text of mem/x"},
	} {
		t.Run(name, func(t *testing.T) {
			relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
			var ahead time.Duration
			var said []string
			s := agedAt(t, cache, state, &ahead, &said, relay.url)
			if c.base != "" {
				setTo(t, s, "mem/x", c.base, false)
			}
			relay.silent.Store(true)
			appendTo(t, s, "mem/x", "words", true)
			at := memory.Expiry{At: time.Now().Add(time.Hour).Unix()}
			r, err := s.Memory.Writer(t.Context()).Write(t.Context(), "mem/x", write.Draft{Text: "secret", Fields: write.Fields{Expires: at}}, mayWait)
			wrote(t, r, err, true)
			appendTo(t, s, "mem/x", "onto it", true)
			if e, _, err := s.Memory.Read(t.Context(), "mem/x"); err != nil || !strings.Contains(e.Text, "onto it") {
				t.Fatal(e, err)
			}
			all, err := s.Outbox.All(t.Context())
			if err == nil && c.sent != "" {
				err = s.Outbox.state(t.Context()).Outbox.Signed(t.Context(), c.sent, ids(all)...)
			}
			if err != nil || len(all) != 3 {
				t.Fatal(all, err)
			}
			if c.has {
				relay.has.Load().Put(stored)
			}
			ahead, said = time.Hour+time.Second, nil
			if e, _, err := s.Memory.Read(t.Context(), "mem/x"); err == nil && strings.Contains(e.Text, "secret") {
				t.Errorf("read %q", e.Text)
			}
			relay.silent.Store(false)
			if out := sent(t, s); out.Left+out.Apart != 0 || out.Written != map[bool]int{true: 1}[c.want != ""] {
				t.Errorf("%+v", out)
			}
			if n := strings.Count(strings.Join(said, "\n"), "has expired, and is dropped"); n != c.told {
				t.Errorf("said %d times: %q", n, said)
			}
			if e, _, err := s.Memory.Get(t.Context(), "mem/x"); write.Body("mem/x", e.Text) != c.want || e.Expires != 0 || (err == nil) != (c.want != "") {
				t.Errorf("%q, expires %d, %v", e.Text, e.Expires, err)
			}
		})
	}
}

// TestApartExpires: what expires and met a newer text is kept beside it for as long as it was
// to last, and holds up nothing that is written later.
func TestApartExpires(t *testing.T) {
	relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
	var ahead time.Duration
	var said []string
	s, other := agedAt(t, cache, state, &ahead, &said, relay.url), agedAt(t, t.TempDir(), t.TempDir(), &ahead, &said, relay.url)
	at := time.Now().Add(time.Hour).Unix()
	if _, _, err := s.Memory.Set(t.Context(), "mem/x", "one", memory.SetOptions{Expires: memory.Expiry{At: at}}); err != nil {
		t.Fatal(err)
	}
	most := ""
	relay.silent.Store(true)
	for n := nipae.MaxBody - 400; n < nipae.MaxBody; n += 10 {
		text := strings.Repeat("y", n)
		if _, _, err := s.Memory.Set(t.Context(), "mem/x", text, mayWait); err == nil {
			most = text
		} else if !errors.Is(err, client.ErrTooLarge) {
			t.Fatal(err)
		}
	}
	all, err := s.Outbox.All(t.Context())
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	relay.silent.Store(false)
	setTo(t, other, "mem/x", "theirs", false)
	if out := sent(t, s); out.Apart != 1 || out.Left+out.Written != 0 {
		t.Fatalf("%+v", out)
	}
	slug := apart.Slug(all[len(all)-1].ID)
	e, _, err := s.Memory.Get(t.Context(), slug)
	if err != nil || e.Expires != at || !strings.HasSuffix(e.Text, "\n"+most) {
		t.Errorf("%d bytes, expires %d, want %d, %v", e.Size, e.Expires, at, err)
	}
	// This process was killed before it noted that.
	c := &chain{o: s.Outbox, state: s.Outbox.state(t.Context()), out: &Sent{}, slug: "mem/x", all: all[len(all)-1:]}
	if err := c.apart(t.Context(), client.Entry{}); err != nil || c.out.Apart != 1 || c.left {
		t.Errorf("again: %+v, %v", c.out, err)
	}
	setTo(t, s, "mem/x", "free", false)
	ahead = time.Hour + time.Second
	if _, _, err := s.Memory.Get(t.Context(), slug); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("it outlasts the memory: %v", err)
	}
}
