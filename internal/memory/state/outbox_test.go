package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

func queue(t testing.TB, s *State, slug, data string, after int64) Queued {
	t.Helper()
	q, err := s.Outbox.Put(t.Context(), Queued{Slug: slug, Data: []byte(data), At: testTime}, after)
	must(t, err)
	return q
}

// waits is what waits, as "slug=data" in order.
func waits(t testing.TB, s *State, slug string) string {
	t.Helper()
	all, err := s.Outbox.All(t.Context(), slug)
	must(t, err)
	var out []string
	for _, q := range all {
		out = append(out, q.Slug+"="+string(q.Data))
	}
	return strings.Join(out, " ")
}

func TestOutbox(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	a := queue(t, s, "mem/a", "one", 0)
	b := queue(t, s, "mem/b", "two", 0)
	c := queue(t, s, "mem/a", "three", a.N)
	if len(a.ID) != 12 || a.ID == b.ID {
		t.Errorf("ids %q and %q", a.ID, b.ID)
	}
	if _, err := s.Outbox.Put(t.Context(), Queued{Slug: "mem/a", At: testTime}, a.N); !errors.Is(err, ErrOvertaken) {
		t.Errorf("behind an older one: %v", err)
	}
	if _, err := s.Outbox.Put(t.Context(), Queued{Slug: "", At: testTime}, 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("without a slug: %v", err)
	}
	must(t, s.Outbox.Signed(t.Context(), "event", a.ID, c.ID))
	must(t, s.Close())

	s = r.open(testPair)
	if got := waits(t, s, ""); got != "mem/a=one mem/b=two mem/a=three" {
		t.Errorf("%q", got)
	}
	all, err := s.Outbox.All(t.Context(), "mem/a")
	must(t, err)
	if len(all) != 2 || all[0].Sent != "event" || all[1].Sent != "event" || !all[0].At.Equal(testTime) {
		t.Errorf("%+v", all)
	}
	must(t, s.Outbox.Held(t.Context(), "why", a.ID))
	must(t, s.Outbox.Refused(t.Context(), "quota", c.ID))
	all, err = s.Outbox.All(t.Context(), "mem/a")
	if must(t, err); all[0].Sent != "event" || all[0].Reason != "why" || all[1].Sent != "" || all[1].Reason != "quota" {
		t.Errorf("%+v", all)
	}
	again, err := s.Outbox.Put(t.Context(), Queued{ID: b.ID, Slug: "mem/b", Data: []byte("other"), At: testTime}, 0)
	if must(t, err); again.N != 0 || waits(t, s, "mem/b") != "mem/b=two" {
		t.Errorf("the same id twice: %+v, %q", again, waits(t, s, "mem/b"))
	}
	before, err := s.Outbox.Mark(t.Context())
	must(t, err)
	must(t, s.Outbox.Remove(t.Context(), a.ID, c.ID))
	queue(t, s, "mem/a", "four", 0)
	if now, err := s.Outbox.Mark(t.Context()); err != nil || now == before || now.Count != 2 {
		t.Errorf("%+v after %+v, %v", now, before, err)
	}
}

// TestOutboxBounds: beyond a bound nothing is taken, and nothing is lost.
func TestOutboxBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	s := newRig(t).open(testPair)
	big := strings.Repeat("x", MaxQueuedSize/4)
	for i := range 4 {
		queue(t, s, fmt.Sprintf("mem/%d", i), big, 0)
	}
	if _, err := s.Outbox.Put(t.Context(), Queued{Slug: "mem/more", Data: []byte("y"), At: testTime}, 0); !errors.Is(err, ErrOutboxFull) {
		t.Errorf("too many bytes: %v", err)
	}
	all, err := s.Outbox.All(t.Context(), "")
	must(t, err)
	var ids []string
	for _, q := range all {
		ids = append(ids, q.ID)
	}
	must(t, s.Outbox.Remove(t.Context(), ids...))
	err = s.file.Write(t.Context(), func(tx *sealedfile.Tx) error {
		for i := range MaxQueued {
			tx.Exec("INSERT INTO outbox (id, slug, data, size, at) VALUES (?, 'mem/a', x'', 0, 0)", fmt.Sprint(i))
		}
		return nil
	})
	must(t, err)
	if _, err := s.Outbox.Put(t.Context(), Queued{Slug: "mem/more", At: testTime}, 0); !errors.Is(err, ErrOutboxFull) {
		t.Errorf("too many: %v", err)
	}
	if m, _ := s.Outbox.Mark(t.Context()); m.Count != MaxQueued {
		t.Errorf("%d wait", m.Count)
	}
}

// TestOutboxAside: what waits in a state that was set aside can be read, of another
// place too, and that file stays as it was.
func TestOutboxAside(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	queue(t, s, "mem/a", "one", 0)
	must(t, s.Close())
	r.host = "two"
	s = r.open(testPair)
	if got := waits(t, s, ""); got != "" {
		t.Errorf("the new state has %q", got)
	}
	aside, err := Aside(testPair, r.dir)
	if must(t, err); len(aside) != 1 {
		t.Fatalf("set aside: %q", aside)
	}
	before, err := os.ReadFile(aside[0])
	must(t, err)
	for range 2 {
		all, err := QueuedIn(t.Context(), testPair, aside[0], r.dir)
		if must(t, err); len(all) != 1 || string(all[0].Data) != "one" || all[0].Slug != "mem/a" {
			t.Fatalf("%+v", all)
		}
	}
	if after, err := os.ReadFile(aside[0]); err != nil || string(after) != string(before) {
		t.Errorf("the file changed: %v", err)
	}
	if _, err := QueuedIn(t.Context(), Pair{Agent: testPair.Agent, Owner: testPair.Owner, Conversation: [32]byte{8}}, aside[0], r.dir); !errors.Is(err, sealedfile.ErrDamaged) {
		t.Errorf("with another key: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(r.dir, ".outbox-*"))
	killed, reads := filepath.Join(r.dir, ".outbox-killed"), filepath.Join(r.dir, ".outbox-reads")
	must(t, errors.Join(os.Mkdir(killed, 0o700), os.Mkdir(reads, 0o700), os.Chtimes(killed, testTime, testTime)))
	must(t, Taken(aside[0]))
	if again, err := Aside(testPair, r.dir); err != nil || len(again)+len(left) > 0 {
		t.Errorf("%q, %v and %q are there", again, err, left)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, ".outbox-*")); len(left) != 1 || left[0] != reads {
		t.Errorf("%q is left of reading", left)
	}
}

// TestOutboxOlder: a program of before this version leaves the file, and what waits.
func TestOutboxOlder(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	queue(t, s, "mem/a", "one", 0)
	path := s.file.Path()
	must(t, s.Close())
	key, err := sealedfile.Key(testPair.Conversation, label)
	must(t, err)
	_, err = sealedfile.Open(context.Background(), path, key, sealedfile.Options{What: "the agent's state", Application: application,
		Schema: schema[:len(schema)-1], Durable: true, RefuseNewer: true, Now: time.Now})
	if !errors.Is(err, sealedfile.ErrNewer) {
		t.Errorf("an older program: %v", err)
	}
	if got := waits(t, r.open(testPair), ""); got != "mem/a=one" {
		t.Errorf("%q", got)
	}
}

// TestWhatWaitsIsNotInALog: a write that waits is in the file, where damage is noticed, once
// the state is closed; a bit of a log that flips would take it away in silence.
func TestWhatWaitsIsNotInALog(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	q := queue(t, s, "mem/a", "one", 0)
	path := s.file.Path()
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		must(t, err)
		return info.Size()
	}
	must(t, s.Close())
	if n := size(); n > 0 {
		t.Errorf("%d bytes of log beside a write that waits", n)
	}
	s = r.open(testPair)
	if got := waits(t, s, ""); got != "mem/a=one" {
		t.Errorf("%q", got)
	}
	must(t, s.Outbox.Remove(t.Context(), q.ID))
	must(t, s.Close())
	if size() == 0 {
		t.Error("nothing waits, and the log was taken in all the same")
	}
}
