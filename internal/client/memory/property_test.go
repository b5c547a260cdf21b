package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// model is what the relays should return: for each record the newest version
// that any relay accepted.
type model map[string]client.Entry

func (m model) wrote(key string, e client.Entry) {
	if have, ok := m[key]; !ok || e.CreatedAt > have.CreatedAt || e.CreatedAt == have.CreatedAt && e.ID < have.ID {
		m[key] = e
	}
}

// cluster is the set of relays that a property test writes to.
type cluster struct {
	relays []string // those that work
	broken []string // down and late
	now    time.Time
	rng    *rand.Rand
	truth  model
	// clients are kept from step to step, by pair and relays.
	clients map[string]*Memory
}

var (
	propertyAgents = []string{"agent", "second"}
	propertyOwners = []string{"owner", "other"}
	propertySlugs  = []nipae.Slug{nipae.Core, "mem/a", "mem/b", "mem/c/d"}
)

// memory is a pair's memory at some of the relays.
func (c *cluster) memory(t testing.TB, agent, owner string, asOwner bool, relays []string) *Memory {
	key := fmt.Sprint(agent, owner, asOwner, relays)
	if c.clients[key] == nil {
		of := agentOf
		if asOwner {
			of = ownerOf
		}
		c.clients[key] = of(t, agent, owner, relays, func(o *client.Options) { o.Clock = func() time.Time { return c.now } })
	}
	return c.clients[key]
}

// some returns some of the working relays in random order, and at times the
// broken one that fails at once.
func (c *cluster) some() []string {
	out := slices.Clone(c.relays)
	c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	out = out[:1+c.rng.IntN(len(out))]
	if c.rng.IntN(3) == 0 {
		out = append(out, c.broken[0])
	}
	return out
}

func pick1[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

// step writes or removes a record at some relays.
func (c *cluster) step(t *testing.T, i int) {
	c.now = c.now.Add(time.Duration(c.rng.IntN(3)) * time.Second)
	agent, owner, slug := pick1(c.rng, propertyAgents), pick1(c.rng, propertyOwners), pick1(c.rng, propertySlugs)
	m := c.memory(t, agent, owner, false, c.some())
	var e client.Entry
	var status client.Status
	var err error
	if !slug.IsCore() && c.rng.IntN(5) == 0 {
		before, _, getErr := m.Get(t.Context(), slug)
		if _, status, err = m.Remove(t.Context(), slug, false); errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone) || errors.Is(err, client.ErrPartial) {
			if getErr == nil {
				t.Fatalf("step %d: %s was there (%+v) and could not be removed: %v", i, slug, before, err)
			}
			return
		}
		if err == nil {
			e, _, err = m.Get(t.Context(), slug)
			if errors.Is(err, client.ErrTombstone) || errors.Is(err, client.ErrPartial) && e.Tombstone {
				err = nil
			}
		}
	} else {
		e, status, err = m.Set(t.Context(), slug, fmt.Sprint("step ", i), SetOptions{})
	}
	if errors.Is(err, client.ErrConflict) && client.Accepted(status.Published) == 0 {
		return // a relay that it did not read from before had a newer one
	}
	var conflict *client.ConflictError
	if errors.As(err, &conflict) && conflict.Sent {
		err = nil
	}
	if err != nil {
		t.Fatalf("step %d: %v, %+v", i, err, status)
	}
	c.truth.wrote(agent+owner+string(slug), e)
}

// check reads every record as both parties from the given relays and compares.
func (c *cluster) check(t *testing.T, relays []string, partial bool) {
	t.Helper()
	for _, agent := range propertyAgents {
		for _, owner := range propertyOwners {
			for _, asOwner := range []bool{false, true} {
				m := c.memory(t, agent, owner, asOwner, relays)
				all, status, err := m.ListAll(t.Context())
				if err != nil && !errors.Is(err, client.ErrPartial) || status.Partial != partial {
					t.Fatalf("list %s for %s: %v, %+v", agent, owner, err, status)
				}
				for _, slug := range propertySlugs {
					want, ok := c.truth[agent+owner+string(slug)]
					if got := find(all, slug); got != want {
						t.Errorf("%s for %s: the list has %+v, want %+v (known %v)", agent, owner, got, want, ok)
					}
				}
			}
		}
	}
}

func find(l Listing, slug nipae.Slug) client.Entry {
	all := append(slices.Clone(l.Memories), l.Tombstones...)
	if l.Core != nil {
		all = append(all, *l.Core)
	}
	for _, e := range all {
		if e.Slug == slug {
			return e
		}
	}
	return client.Entry{}
}

// Two agents, two owners, three working relays, one of which keeps every old
// version, and others that are down or late: whoever wrote where, everybody who
// asks all relays reads the same heads, and after a sync from each of them.
func TestTheSameHeadEverywhere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
		c := &cluster{rng: rand.New(rand.NewPCG(seed, 1)), truth: model{}, clients: map[string]*Memory{}, now: time.Now().Add(-2 * time.Minute)}
		keeper := &clienttest.Hoard{Most: 3 + c.rng.IntN(10), Hints: c.rng.IntN(2) == 0}
		c.relays = []string{bridgetest.Start(t).URL, bridgetest.Start(t).URL, clienttest.StartHoard(t, keeper)}
		c.broken = []string{bridgetest.Down(t), clienttest.Silent(t)}
		for i := range 60 {
			c.step(t, i)
		}
		// The hoard's cap may hide events of one second, which it reports.
		c.relays[2] = clienttest.StartHoard(t, &clienttest.Hoard{Events: keeper.All(), Hints: true})
		c.check(t, c.relays, false)
		c.check(t, append([]string{c.broken[0]}, c.relays...), true)

		scaled(t, func(timeout func(*client.Options)) error {
			late := ownerOf(t, "agent", "owner", append([]string{c.broken[1]}, c.relays...), timeout)
			all, _, err := late.ListAll(t.Context())
			for _, slug := range propertySlugs {
				if got, want := find(all, slug), c.truth["agentowner"+string(slug)]; got != want {
					return fmt.Errorf("with a late relay %s is %+v, %w; want %+v", slug, got, err, want)
				}
			}
			return nil
		})
		for _, agent := range propertyAgents {
			for _, owner := range propertyOwners {
				m := c.memory(t, agent, owner, false, c.relays)
				for _, to := range alike(t, m.c.Identity(), m.agent, m.owner, c.relays).Targets {
					if !to.UpToDate() {
						t.Errorf("sync: %+v", to)
					}
				}
			}
		}
		for _, url := range c.relays {
			c.check(t, []string{url}, false)
		}
	})
}
