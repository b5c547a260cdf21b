package follow

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/e2e/testkeys"
	"engramd/internal/memory/localcopy"
	"engramd/nips/nipae"
)

// world is an agent, relays, and a copy of its memory.
type world struct {
	t      testing.TB
	relays []*moody
	all    map[string]bool // ids of all that the agent ever signed
	late   atomic.Int64    // how many seconds the clock is ahead
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.late.Load()) * time.Second) }

func newWorld(t testing.TB, relays int) *world {
	w := &world{t: t, all: map[string]bool{}}
	for range relays {
		w.relays = append(w.relays, startMoody(t, sealed(t, "second", "owner", "mem/alien", "not mine", time.Now().Unix())))
	}
	return w
}

// sealed is the event of a text; "" is a tombstone.
func sealed(t testing.TB, agent, owner, slug, text string, at int64) *nostr.Event {
	t.Helper()
	key, err := nipae.DeriveConversationKey(testkeys.New(agent).Secret, testkeys.New(owner).Pub)
	if err != nil {
		t.Fatal(err)
	}
	body, err := nipae.NewTombstone(nipae.Slug(slug))
	if text != "" {
		body, err = nipae.NewMemory(nipae.Slug(slug), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	ev, err := nipae.Seal(key, body, nipae.Sealing{Secret: testkeys.New(agent).Secret, Owner: testkeys.New(owner).Pub, CreatedAt: at, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func (w *world) write(slug, text string, at int64) *nostr.Event {
	ev := sealed(w.t, "agent", "owner", slug, text, at)
	w.all[ev.ID] = true
	return ev
}

// memory is the agent's, at those relays.
func memory(t testing.TB, timeout time.Duration, urls ...string) (*client.Client, *clientmemory.Memory) {
	t.Helper()
	id, err := client.NewIdentity(testkeys.New("agent").Secret)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(id, client.Options{Relays: urls, Timeout: timeout, Patient: true})
	t.Cleanup(c.Close)
	m, err := clientmemory.AsAgent(c, testkeys.New("owner").Pub)
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

func (w *world) urls() (urls []string) {
	for _, r := range w.relays {
		urls = append(urls, r.url)
	}
	return urls
}

// open opens the copy in a folder, "" for one in memory.
func open(t testing.TB, m *clientmemory.Memory, dir string, now func() time.Time) *localcopy.Copy {
	t.Helper()
	kept, err := localcopy.Open(t.Context(), localcopy.Pair{Agent: m.Agent(), Owner: m.Owner(), Conversation: m.Conversation()},
		localcopy.Options{Dir: dir, NoDisk: dir == "", Now: now, Warn: func(line string) { t.Error(line) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	return kept
}

func followerOf(c *client.Client, m *clientmemory.Memory, kept *localcopy.Copy, now func() time.Time) *Follower {
	return New(Options{Filter: nipae.ListFilter(m.Agent(), m.Owner()), Store: kept, Sources: Of(c), Clock: now})
}

// told is what a client's list says, and shown what a copy holds, in the same
// form.
func told(l clientmemory.Listing) string {
	lines := []string{fmt.Sprint(l.Unreadable, " unreadable")}
	for _, e := range append(l.Memories, l.Tombstones...) {
		lines = append(lines, fmt.Sprint(e.Slug, " ", e.ID[:8], " ", e.Text))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func shown(t testing.TB, kept *localcopy.Copy, each func(h localcopy.Head)) string {
	t.Helper()
	var lines []string
	err := kept.Read(t.Context(), func(v *localcopy.View) error {
		n := 0
		lines = nil
		for range v.Unreadable() {
			n++
		}
		for h := range v.Heads("") {
			text, _ := v.Text(h.Slug)
			lines = append(lines, fmt.Sprint(h.Slug, " ", h.ID[:8], " ", text))
			each(h)
		}
		lines = append(lines, fmt.Sprint(n, " unreadable"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
