package proposals

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/testkeys"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// TestMain removes the relay's binary, which runs beside tests without cgo.
func TestMain(m *testing.M) {
	os.Exit(relaytest.Tests{M: m}.Run())
}

const patience = time.Minute

// rig is an agent with its owner, at a relay.
type rig struct {
	t            *testing.T
	relays       []string
	owner, agent testkeys.Key
	friend       testkeys.Key
	stranger     testkeys.Key
	memory       *clientmemory.Memory // the agent's
	box          *Box
	author       *Author      // the owner
	trace        client.Trace // of clients that are made from now on; nil: none
	grace        time.Duration
	ahead        int64 // what is proposed is dated so many seconds later each time
}

func newRig(t *testing.T, relays ...string) *rig {
	t.Helper()
	if len(relays) == 0 {
		relays = []string{relaytest.Start(t, relaytest.Options{}).URL}
	}
	r := &rig{t: t, relays: relays, grace: patience, owner: testkeys.New("owner"), agent: testkeys.New("agent"), friend: testkeys.New("friend"), stranger: testkeys.New("stranger")}
	c := r.client(r.agent)
	var err error
	if r.memory, err = clientmemory.AsAgent(c, r.owner.Pub); err != nil {
		t.Fatal(err)
	}
	r.box = r.boxWith(Options{Listed: []Listed{{Key: r.friend.Pub, Name: "friend"}}})
	r.author = r.authorOf(r.owner)
	return r
}

// boxWith makes a box of the agent.
func (r *rig) boxWith(o Options) *Box {
	r.t.Helper()
	o.Client, o.Memory, o.Clock = r.client(r.agent), r.memory, func() time.Time { return time.Unix(1_800_000_000, 0) }
	m, err := clientmemory.AsAgent(o.Client, r.owner.Pub)
	if err != nil {
		r.t.Fatal(err)
	}
	o.Memory = m
	b, err := NewBox(o)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.grace > 0 {
		b.counts = r.grace
	}
	return b
}

func (r *rig) client(key testkeys.Key) *client.Client {
	r.t.Helper()
	id, err := client.NewIdentity(key.Secret)
	if err != nil {
		r.t.Fatal(err)
	}
	c := client.New(id, client.Options{Relays: r.relays, Timeout: patience, Grace: r.grace, Trace: r.trace})
	r.t.Cleanup(c.Close)
	return c
}

// authorOf proposes as a key, each time a second later than before.
func (r *rig) authorOf(key testkeys.Key) *Author {
	r.ahead++
	return &Author{Client: r.client(key), Clock: func() time.Time {
		r.ahead++
		return time.Unix(1_700_000_000+r.ahead, 0)
	}}
}

func (r *rig) ctx() context.Context { return r.t.Context() }

// set has the agent remember something by itself and returns its hash.
func (r *rig) set(slug nipae.Slug, text string) string {
	r.t.Helper()
	e, _, err := r.memory.Set(r.ctx(), slug, text, clientmemory.SetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return e.Hash
}

// get returns what the agent remembers, "" for nothing.
func (r *rig) get(slug nipae.Slug) string {
	r.t.Helper()
	e, _, err := r.memory.Get(r.ctx(), slug)
	if err != nil {
		return ""
	}
	return e.Text
}

// propose sends what is proposed to the agent.
func (r *rig) propose(by *Author, p Proposal) Proposal {
	r.t.Helper()
	if p.Base == "" {
		p.Base = clientmemory.BaseNone
	}
	p.Agent = r.agent.Pub
	p, _, err := by.Propose(r.ctx(), p)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// accept accepts what must be acceptable.
func (r *rig) accept(p Proposal) Accepted {
	r.t.Helper()
	done, err := r.box.Accept(r.ctx(), p.EventID, AcceptOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

// put publishes what engramctl would not.
func (r *rig) put(by testkeys.Key, ev *nostr.Event) {
	r.t.Helper()
	if _, err := r.client(by).Publish(r.ctx(), ev); err != nil {
		r.t.Fatal(err)
	}
}

// sealed is a body from a key to another.
func (r *rig) sealed(by, to testkeys.Key, slug nipae.Slug, text string, at int64) *nostr.Event {
	r.t.Helper()
	body, err := nipae.NewMemory(slug, text)
	if err != nil {
		r.t.Fatal(err)
	}
	key, err := nipae.DeriveConversationKey(by.Secret, to.Pub)
	if err != nil {
		r.t.Fatal(err)
	}
	var seed [32]byte
	copy(seed[:], fmt.Sprint(at, slug))
	ev, err := nipae.Seal(key, body, nipae.Sealing{Secret: by.Secret, Owner: to.Pub, CreatedAt: at, Rand: rand.NewChaCha8(seed)})
	if err != nil {
		r.t.Fatal(err)
	}
	return ev
}

// is fails unless a memory has that trust, source and body.
func (r *rig) is(slug nipae.Slug, trust frontmatter.Trust, source, body string) {
	r.t.Helper()
	d := frontmatter.Parse(r.get(slug))
	if got, _, _ := strings.Cut(d.Fields().Source, ":"); d.Trust() != trust || got != source || d.Body() != body {
		r.t.Errorf("%s is %q, want %v by %q: %q", slug, d.Text(), trust, source, body)
	}
}
