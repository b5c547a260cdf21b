package state

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"engramd/internal/protocol/writerlog"
)

// TestLogRoot: the root is that of the tree over all numbers, whatever became of
// their events.
func TestLogRoot(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	log, root, err := s.Links.Root(t.Context())
	if err != nil || log.W != "" || log.Next != 0 || root != (&writerlog.Tree{}).Root(0) {
		t.Fatalf("%+v, %x, %v", log, root, err)
	}
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	var tree writerlog.Tree
	for i := range 21 {
		must(t, s.Links.Take(t.Context(), 1, func(int, writerlog.Link) (Sealed, error) {
			id := writerlog.Hash(sha256.Sum256(fmt.Append(nil, i)))
			tree.Append(id)
			return Sealed{ID: fmt.Sprintf("%x", id[:]), At: int64(i), Event: []byte("{}")}, nil
		}))
		if log, root, err = s.Links.Root(t.Context()); err != nil || log.W != "61626364" || log.Next != tree.Size() || root != tree.Root(tree.Size()) {
			t.Fatalf("after %d: %+v, %x, %v", i, log, root, err)
		}
	}
}

// TestAttest: of all that ask in one session the first is to attest, and a server
// that does not know its session yet is of the one that its harness begins.
func TestAttest(t *testing.T) {
	type ask struct {
		session, process string
		after            time.Duration
		want             bool
	}
	for name, asks := range map[string][]ask{
		"one session":                  {{"s", "p", 0, true}, {"s", "p", 0, false}, {"s", "", time.Hour, false}, {"s", "q", 0, false}},
		"two sessions of a harness":    {{"s", "p", 0, true}, {"t", "p", 0, true}, {"t", "p", 0, false}},
		"the server was first":         {{"", "p", 0, true}, {"s", "p", time.Second, false}, {"s", "p", time.Hour, false}, {"t", "p", 0, true}},
		"the server was first, twice":  {{"", "p", 0, true}, {"s", "p", time.Second, false}, {"t", "p", time.Second, true}},
		"the hook was first":           {{"s", "p", 0, true}, {"", "p", time.Second, false}},
		"the server began long before": {{"", "p", 0, true}, {"s", "p", 2 * time.Minute, true}},
		"another harness":              {{"", "p", 0, true}, {"s", "q", 0, true}, {"t", "", 0, true}},
		"nobody is known":              {{"", "", 0, true}, {"", "", 0, true}},
		"a day later":                  {{"s", "p", 0, true}, {"s", "p", 25 * time.Hour, true}},
		"the clock was set back":       {{"s", "p", 0, true}, {"s", "p", -25 * time.Hour, true}},
	} {
		r := newRig(t)
		s := r.open(testPair)
		for i, a := range asks {
			r.now = r.now.Add(a.after)
			if first, err := s.Sessions.Attest(t.Context(), a.session, a.process); first != a.want || err != nil {
				t.Errorf("%s: %d: %v, %v", name, i, first, err)
			}
		}
	}
	r := newRig(t)
	s := r.open(testPair)
	if _, err := s.Sessions.Attest(t.Context(), "s", "p"); err != nil {
		t.Fatal(err)
	}
	must(t, s.Sessions.Unattest(t.Context(), "s", "p"))
	if first, err := s.Sessions.Attest(t.Context(), "s", "p"); !first || err != nil {
		t.Errorf("what was taken back: %v, %v", first, err)
	}
	if _, err := s.Sessions.Attest(t.Context(), strings.Repeat("s", maxPath+1), "p"); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	for i := range MaxSessions + 20 {
		if _, err := s.Sessions.Attest(t.Context(), fmt.Sprint(i), "p"); err != nil {
			t.Fatal(err)
		}
	}
	if first, err := s.Sessions.Attest(t.Context(), "0", "p"); !first || err != nil {
		t.Errorf("the oldest is kept: %v, %v", first, err)
	}
}
