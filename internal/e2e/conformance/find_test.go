package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// library returns events, newest first, in which every kind of question has an
// answer.
func library(k relaytest.Key, base int64) map[string]*nostr.Event {
	e := strings.Repeat("65f07794", 8)
	return map[string]*nostr.Event{
		"first":    relaytest.Note(k, base-40*60, "first", rig.Tag("t", "a")),
		"second":   relaytest.Note(k, base-45*60, "second", rig.Tag("t", "b")),
		"third":    relaytest.Note(k, base-50*60, "third", rig.Tag("t", "a"), rig.Tag("p", k.Pub)),
		"fourth":   relaytest.Note(k, base-55*60, "fourth", rig.Tag("t", "b"), rig.Tag("t", "a")),
		"approved": relaytest.Sign(k, 9999, base-10*60, "approved", rig.Tag("k", "3036"), rig.Tag("n", "approved")),
		"only n":   relaytest.Sign(k, 9999, base-11*60, "only n", rig.Tag("n", "approved")),
		"reply":    relaytest.Sign(k, 1111, base-12*60, "reply", rig.Tag("e", e), rig.Tag("P", k.Pub), rig.Tag("K", "1")),
	}
}

func conformFind(t *testing.T, relay *relaytest.Child) {
	k, stranger := relaytest.NewKey(301), relaytest.NewKey(302)
	c := rig.Dial(t, relay)
	lib := library(k, rig.Now())
	for _, ev := range lib {
		c.Store(ev)
	}
	all := []string{"approved", "only n", "reply", "first", "second", "third", "fourth"}
	mine := []string{k.Pub}
	for _, one := range []struct {
		what   string
		filter relaytest.Filter
		want   []string
	}{
		{"by id", relaytest.Filter{"ids": rig.IDs(lib["first"], lib["approved"])}, []string{"approved", "first"}},
		{"by pubkey and kind", relaytest.Filter{"authors": []string{k.Pub, stranger.Pub}, "kinds": []int{1, 3}}, []string{"first", "second", "third", "fourth"}},
		{"by pubkey and tag", relaytest.Filter{"authors": mine, "#p": mine}, []string{"third"}},
		{"by kind and tag", relaytest.Filter{"kinds": []int{1, 3, 9999}, "authors": mine, "#n": []string{"approved"}}, []string{"approved", "only n"}},
		{"by one tag", relaytest.Filter{"#k": []string{"3036"}, "authors": mine}, []string{"approved"}},
		{"by two tags, both of which must match", relaytest.Filter{"kinds": []int{9999}, "authors": mine, "#k": []string{"3036"}, "#n": []string{"approved"}, "limit": 20}, []string{"approved"}},
		{"by two values, one of which must match", relaytest.Filter{"authors": mine, "#t": []string{"a", "b"}}, []string{"first", "second", "third", "fourth"}},
		{"by one value of two on the event", relaytest.Filter{"authors": mine, "#t": []string{"a"}}, []string{"first", "third", "fourth"}},
		{"by an upper-case tag", relaytest.Filter{"authors": mine, "#P": mine}, []string{"reply"}},
		{"an upper-case tag is another tag", relaytest.Filter{"authors": mine, "#p": mine, "#P": mine}, nil},
		{"by pubkey", relaytest.Filter{"authors": mine}, all},
		{"by id and author that do not agree", relaytest.Filter{"ids": rig.IDs(lib["first"]), "authors": []string{stranger.Pub}}, nil},
		{"by a kind nobody has used", relaytest.Filter{"kinds": []int{31337}}, nil},
		{"with an empty list", relaytest.Filter{"authors": mine, "kinds": []int{}}, nil},
	} {
		var want []string
		for _, name := range one.want {
			want = append(want, lib[name].ID)
		}
		rig.WantIDs(t, one.what, c.MustQuery(one.filter).IDs(), want)
		if n := c.MustCount(one.filter); n != int64(len(want)) {
			t.Errorf("%s: COUNT %d, want %d", one.what, n, len(want))
		}
	}
	// A filter without constraints returns every open event.
	scraped := c.MustQuery(relaytest.Filter{}).IDs()
	for name, ev := range lib {
		if !slices.Contains(scraped, ev.ID) {
			t.Errorf("a scrape lacks %q", name)
		}
	}
	got := c.MustQuery(relaytest.Filter{"kinds": []int{9999}, "authors": mine}, relaytest.Filter{"#n": []string{"approved"}, "authors": mine}, relaytest.Filter{"ids": rig.IDs(lib["first"])})
	rig.WantIDs(t, "several filters are OR and bring each event once", got.IDs(), rig.IDs(lib["approved"], lib["only n"], lib["first"]))
}

func conformOrder(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(311)
	c := rig.Dial(t, relay)
	base := rig.Now() - 1000
	var evs []*nostr.Event
	for i := range 30 {
		ev := relaytest.Note(k, base+int64(i/3), fmt.Sprint("order ", i), rig.Tag("t", fmt.Sprint(i%2)))
		evs = append(evs, ev)
	}
	for _, i := range []int{7, 3, 21, 29, 0} { // not in order of time
		c.Store(evs[i])
	}
	for i, ev := range evs {
		if !slices.Contains([]int{7, 3, 21, 29, 0}, i) {
			c.Store(ev)
		}
	}
	rig.SortNewestFirst(evs)
	mine := []string{k.Pub}
	rig.WantIDs(t, "newest first, ties by lowest id", c.MustQuery(relaytest.Filter{"authors": mine}).IDs(), rig.IDs(evs...))
	rig.WantIDs(t, "the same by kind", c.MustQuery(relaytest.Filter{"kinds": []int{1}, "authors": mine}).IDs(), rig.IDs(evs...))
	rig.WantIDs(t, "the same by tag values", c.MustQuery(relaytest.Filter{"authors": mine, "#t": []string{"0", "1"}}).IDs(), rig.IDs(evs...))
	rig.WantIDs(t, "the newest when limited", c.MustQuery(relaytest.Filter{"authors": mine, "limit": 7}).IDs(), rig.IDs(evs[:7]...))
	rig.WantIDs(t, "the newest of two values when limited", c.MustQuery(relaytest.Filter{"authors": mine, "kinds": []int{1, 7}, "#t": []string{"0", "1"}, "limit": 2}).IDs(), rig.IDs(evs[:2]...))
	rig.WantIDs(t, "by ids", c.MustQuery(rig.ByID(evs...)).IDs(), rig.IDs(evs...))
	page := c.MustQuery(relaytest.Filter{"authors": mine, "limit": 3})
	if !slices.Contains(page.Hints, "more") && !slices.Contains(page.Hints, "finish") {
		t.Errorf("EOSE carries %v, want a NIP-67 hint", page.Hints)
	}
	limited := c.MustQuery(relaytest.Filter{"authors": mine, "limit": 2}, relaytest.Filter{"authors": mine, "limit": 4, "#t": []string{"0"}})
	want := rig.IDs(evs[:2]...)
	n := 0
	for _, ev := range evs {
		if ev.Tags.Find("t")[1] == "0" && n < 4 {
			n++
			if !slices.Contains(want, ev.ID) {
				want = append(want, ev.ID)
			}
		}
	}
	got := limited.IDs()
	slices.Sort(got)
	slices.Sort(want)
	rig.WantIDs(t, "limits hold for each filter of its own", got, want)
}

func conformFilters(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(321)
	c := rig.Dial(t, relay)
	base := rig.Now() - 5000
	var evs []*nostr.Event
	for i := range 5 {
		evs = append(evs, relaytest.Sign(k, 5000, base+int64(i), "job", rig.Tag("t", strings.Repeat("x", i))))
	}
	c.Store(evs...)
	with := func(more relaytest.Filter) relaytest.Filter {
		f := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{5000}}
		for name, value := range more {
			f[name] = value
		}
		return f
	}
	rig.WantIDs(t, "until is inclusive", c.MustQuery(with(relaytest.Filter{"until": base + 1})).IDs(), rig.IDs(evs[1], evs[0]))
	rig.WantIDs(t, "since is inclusive", c.MustQuery(with(relaytest.Filter{"since": base + 3})).IDs(), rig.IDs(evs[4], evs[3]))
	rig.WantIDs(t, "since equal to until", c.MustQuery(with(relaytest.Filter{"since": base + 2, "until": base + 2})).IDs(), rig.IDs(evs[2]))
	rig.WantIDs(t, "since after until", c.MustQuery(with(relaytest.Filter{"since": base + 3, "until": base + 2})).IDs(), nil)
	if n := c.MustCount(with(relaytest.Filter{"limit": 1})); n != 5 {
		t.Errorf("COUNT with a limit is %d, want 5: COUNT ignores it", n)
	}

	zero := c.MustSubscribe(with(relaytest.Filter{"limit": 0}))
	if len(zero.Events) != 0 || !zero.EOSE {
		t.Errorf("limit 0: %d events, EOSE %v, CLOSED %q", len(zero.Events), zero.EOSE, zero.Closed)
	}
	next := relaytest.Sign(k, 5000, base+9, "live after limit 0")
	c.Store(next)
	if ev := c.MustLive(zero.Sub); ev.ID != next.ID {
		t.Errorf("limit 0 then live: %s", ev.ID)
	}

	for what, raw := range map[string]string{
		"unknown key":        `{"kind":[1]}`,
		"misspelt key":       `{"author":["` + k.Pub + `"]}`,
		"null":               `{"kinds":null}`,
		"wrong type":         `{"kinds":"1"}`,
		"kind beyond 16 bit": `{"kinds":[65536]}`,
		"a prefix of an id":  `{"ids":["` + evs[0].ID[:32] + `"]}`,
		"upper-case hex":     `{"authors":["` + strings.ToUpper(k.Pub) + `"]}`,
		"negative since":     `{"since":-1}`,
		"a fraction":         `{"until":1.5}`,
		"a long tag name":    `{"#tt":["x"]}`,
		"not an object":      `[]`,
		"key twice":          `{"kinds":[1],"kinds":[2]}`,
	} {
		for _, label := range []string{"REQ", "COUNT"} {
			sub := c.NextSub()
			c.Raw(fmt.Sprintf(`["%s","%s",%s]`, label, sub, raw))
			f, err := c.Wait(relaytest.ForSub(sub))
			if err != nil || f.Label != "CLOSED" || !rig.HasPrefix(f.Text(1), "invalid: ") {
				t.Errorf("%s with %s: %s, %v; want CLOSED invalid:", label, what, f.Raw, err)
			}
		}
	}
}
