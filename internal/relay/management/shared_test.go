package management_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"engramd/internal/relay/management"
	"engramd/internal/relay/store"
)

// order is a store of several nodes: whatever one of them is told to change, all
// of them execute, one change after the other, on one goroutine, and who made
// the change is answered after that.
type order struct {
	t     *testing.T
	nodes []*world
	jobs  chan job
	log   []store.AdminEntry // what was executed, in order
	fail  error
	wg    sync.WaitGroup
}

type job struct {
	change *store.AdminEntry
	done   chan error
}

func newOrder(t *testing.T) *order {
	o := &order{t: t, jobs: make(chan job)}
	t.Cleanup(func() { close(o.jobs); o.wg.Wait() })
	o.wg.Go(func() {
		for j := range o.jobs {
			j.done <- o.execute(j.change)
		}
	})
	return o
}

func (o *order) execute(change *store.AdminEntry) error {
	if o.fail != nil {
		return o.fail
	}
	if change != nil {
		o.log = append(o.log, *change)
	}
	for i, n := range o.nodes {
		if err := n.Applied(change); err != nil {
			o.t.Errorf("node %d: %v", i, err)
		}
	}
	return nil
}

func (o *order) Administer(_ context.Context, change *store.AdminEntry, _ store.AdminCall) error {
	done := make(chan error, 1)
	o.jobs <- job{change, done}
	return <-done
}

// AdminLists is what the changes of the log have left.
func (o *order) AdminLists(context.Context) (left []store.AdminEntry, err error) {
	for _, e := range o.log {
		left = slices.DeleteFunc(left, func(l store.AdminEntry) bool { return l.List == e.List && l.Key == e.Key })
		if e.Verdict != store.AdminNone {
			left = append(left, e)
		}
	}
	return left, nil
}

func (o *order) join(cfg management.Config) *world {
	w := &world{t: o.t}
	w.open(cfg, management.Options{Store: o, Shared: true})
	o.nodes = append(o.nodes, w)
	return w
}

// plain are rules without the order of their lists, and with what their
// function says of a few addresses in its place.
func plain(r management.Rules) (management.Rules, string) {
	for _, list := range []*[]string{&r.Authors, &r.BanAuthors, &r.BannedEvents, &r.AllowedEvents} {
		*list = slices.Sorted(slices.Values(*list))
	}
	for _, list := range []*[]int{&r.Kinds, &r.BanKinds} {
		*list = slices.Sorted(slices.Values(*list))
	}
	blocked := ""
	for _, a := range addresses {
		if r.Blocked != nil && r.Blocked(netip.MustParseAddr(a)) {
			blocked += a + " "
		}
	}
	r.Blocked = nil
	return r, blocked
}

var addresses = []string{"192.0.2.1", "192.0.2.2", "198.51.100.9"}

// TestNodesEndWithTheSameRules: two nodes are called at the same time; whatever
// order the changes came in, both have the same rules in the end, and so has one
// that joins then.
func TestNodesEndWithTheSameRules(t *testing.T) {
	o := newOrder(t)
	cfg := management.Config{Restricted: true, Authors: []string{listed}, Kinds: []int{1}, BanAuthors: []string{banned}}
	one, two := o.join(cfg), o.join(cfg)
	seed := rand.Uint64()
	var wg sync.WaitGroup
	for i, w := range []*world{one, two} {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for range 300 {
				pick := func(values ...any) any { return values[r.IntN(len(values))] }
				switch r.IntN(5) {
				case 0:
					w.call(pick("banpubkey", "unbanpubkey", "allowpubkey", "unallowpubkey").(string), pick(alice, bob, listed))
				case 1:
					w.call(pick("banevent", "unbanevent", "allowevent", "unallowevent").(string), pick(eventA, eventB))
				case 2:
					w.call(pick("allowkind", "disallowkind").(string), pick(1, 7, 30174))
				case 3:
					w.call(pick("blockip", "unblockip").(string), pick("192.0.2.1", "192.0.2.0/24", "198.51.100.9"))
				default:
					w.call(pick("changerelayname", "changerelaydescription").(string), pick("", "a name", "another"))
				}
				w.call("listbannedpubkeys")
			}
		})
	}
	wg.Wait()
	late := o.join(cfg)
	want, blocks := plain(one.rules)
	for i, w := range []*world{two, late} {
		if got, blocked := plain(w.rules); !reflect.DeepEqual(got, want) || blocked != blocks {
			t.Errorf("seed %d: node %d has\n%+v %s, the first one\n%+v %s", seed, i+1, got, blocked, want, blocks)
		}
	}
	if len(o.log) < 200 {
		t.Errorf("seed %d: only %d changes were made", seed, len(o.log))
	}
}

// TestACallIsInForceWhenItIsAnswered, at the node that was called, by Applied
// and nothing else.
func TestACallIsInForceWhenItIsAnswered(t *testing.T) {
	o := newOrder(t)
	one, two := o.join(management.Config{}), o.join(management.Config{})
	before := one.sets
	one.want("true", "banpubkey", alice)
	if !slices.Equal(one.rules.BanAuthors, []string{alice}) || !slices.Equal(two.rules.BanAuthors, []string{alice}) {
		t.Errorf("banned are %v and %v", one.rules.BanAuthors, two.rules.BanAuthors)
	}
	two.want("true", "unbanpubkey", alice) // it knows of the ban
	if one.sets != before+2 || len(one.rules.BanAuthors) > 0 || len(o.log) != 2 {
		t.Errorf("rules were set %d times, banned are %v after %v", one.sets-before, one.rules.BanAuthors, o.log)
	}
	// What has no place takes no effect.
	o.fail = errors.New("it is not known what became of this")
	one.want("error: …", "banpubkey", bob)
	if len(one.rules.BanAuthors) > 0 || !strings.Contains(one.call("listbannedpubkeys"), "error: ") {
		t.Errorf("banned are %v", one.rules.BanAuthors)
	}
}

// TestAppliedBeforeConfigure: what is executed while a node starts is in the
// rules that it starts with, and a node that cannot put a change into force says
// so.
func TestAppliedBeforeConfigure(t *testing.T) {
	o := newOrder(t)
	s, err := management.New(t.Context(), management.Options{Store: o, Shared: true})
	if err != nil {
		t.Fatal(err)
	}
	change := store.AdminEntry{List: store.AdminPubkeys, Key: alice, Verdict: store.AdminBanned}
	if err := s.Applied(&change); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, Service: s}
	w.configure(management.Config{})
	if !slices.Equal(w.rules.BanAuthors, []string{alice}) {
		t.Errorf("banned are %v", w.rules.BanAuthors)
	}
	w.fail = errors.New("these rules do not compile")
	change.Key = bob
	if err := s.Applied(&change); !errors.Is(err, w.fail) || !slices.Equal(w.rules.BanAuthors, []string{alice}) {
		t.Errorf("%v, banned are %v", err, w.rules.BanAuthors)
	}
	if err := s.Applied(nil); err != nil {
		t.Errorf("a call without a change: %v", err)
	}
}
