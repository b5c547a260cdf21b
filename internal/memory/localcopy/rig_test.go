package localcopy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

const (
	near = "wss://near.example"
	far  = "wss://far.example"
)

// author is an agent with its owner.
type author struct {
	t      testing.TB
	secret string
	Pair
	nonce uint64
}

// secretOf makes a secret key of a name.
func secretOf(name string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(name))) }

func newAuthor(t testing.TB, agent, owner string) *author {
	t.Helper()
	a := &author{t: t, secret: secretOf(agent)}
	var err error
	if a.Agent, err = nostr.GetPublicKey(a.secret); err != nil {
		t.Fatal(err)
	}
	if a.Owner, err = nostr.GetPublicKey(secretOf(owner)); err != nil {
		t.Fatal(err)
	}
	if a.Conversation, err = nipae.DeriveConversationKey(a.secret, a.Owner); err != nil {
		t.Fatal(err)
	}
	return a
}

// write returns the event of a text at a slug.
func (a *author) write(slug, text string, at int64) *nostr.Event {
	a.t.Helper()
	if slug == "core" {
		return a.sealed(nipae.NewProfile(text), at)
	}
	b, err := nipae.NewMemory(nipae.Slug(slug), text)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.sealed(b, at)
}

func (a *author) remove(slug string, at int64) *nostr.Event {
	a.t.Helper()
	b, err := nipae.NewTombstone(nipae.Slug(slug))
	if err != nil {
		a.t.Fatal(err)
	}
	return a.sealed(b, at)
}

func (a *author) sealed(b nipae.Body, at int64) *nostr.Event {
	a.t.Helper()
	a.nonce++
	s := nipae.Sealing{Secret: a.secret, Owner: a.Owner, CreatedAt: at, Aux: new([32]byte)}
	binary.LittleEndian.PutUint64(s.Nonce[:], a.nonce)
	s.Nonce[31] = 1
	ev, err := nipae.Seal(a.Conversation, b, s)
	if err != nil {
		a.t.Fatal(err)
	}
	return ev
}

// garbled is an event at a slug that the agent signed and nobody can read.
func (a *author) garbled(slug string, at int64) *nostr.Event {
	a.t.Helper()
	other := newAuthor(a.t, "agent of garbled", "owner of garbled")
	ev := *a.write(slug, "x", at)
	ev.Content = other.write(slug, "x", at).Content
	if err := ev.Sign(a.secret); err != nil {
		a.t.Fatal(err)
	}
	return &ev
}

// clock is a clock that is set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Unix(1_800_000_000, 0)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// lines collects what a copy warned of.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.all
	l.all = nil
	return out
}

func open(t testing.TB, p Pair, o Options) *Copy {
	t.Helper()
	m, err := Open(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func put(t testing.TB, m *Copy, relay string, events ...*nostr.Event) Changes {
	t.Helper()
	c, err := m.Put(context.Background(), relay, events)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lose(t testing.TB, m *Copy, relay string, events ...*nostr.Event) Changes {
	t.Helper()
	var ids [][32]byte
	for _, ev := range events {
		id, _ := decodeID(ev.ID)
		ids = append(ids, id)
	}
	c, err := m.Lost(context.Background(), relay, ids)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shown is what a copy says, a line for each head, and that the index has
// exactly its texts.
func shown(t testing.TB, m *Copy) string {
	t.Helper()
	var out []string
	err := m.Read(context.Background(), func(v *View) error {
		out = nil
		indexed := 0
		for h := range v.Heads("") {
			line := h.Slug + " †"
			if !h.Tombstone {
				text, ok := v.Text(h.Slug)
				if !ok || len(text) != h.Size {
					return fmt.Errorf("%s: text %v of %d bytes, and the head says %d", h.Slug, ok, len(text), h.Size)
				}
				line = h.Slug + " = " + text
				if !Reserved(h.Slug) {
					indexed++
				}
			}
			if v.Index().Has(h.Slug) == (h.Tombstone || Reserved(h.Slug)) {
				return fmt.Errorf("%s: in the index %v", h.Slug, v.Index().Has(h.Slug))
			}
			if h.Doubtful > 0 {
				line += fmt.Sprintf(" (%d doubtful)", h.Doubtful)
			}
			out = append(out, line)
		}
		if n, _ := v.Index().Len(); n != indexed {
			return fmt.Errorf("the index has %d texts, and there are %d", n, indexed)
		}
		for range v.Unreadable() {
			out = append(out, "?")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

func listed(heads ...string) string {
	return strings.Join(slices.Clone(heads), "\n")
}

func eventsOf(all ...*nostr.Event) []*nostr.Event { return all }

// hashOf is the hash of a text, as Head has it.
func hashOf(text string) string { return hexID(sha256.Sum256([]byte(text))) }
