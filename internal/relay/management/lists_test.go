package management_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"engramd/internal/relay/management"
)

func TestPubkeys(t *testing.T) {
	w := newWorld(t, management.Config{Authors: []string{listed}, BanAuthors: []string{banned}, Restricted: true}, management.Options{})
	w.want(`true`, "banpubkey", alice, "spam")
	w.want(`true`, "allowpubkey", bob)
	w.want(`[{"pubkey":"`+banned+`","reason":"configuration"},{"pubkey":"`+alice+`","reason":"spam"}]`, "listbannedpubkeys")
	w.want(`[{"pubkey":"`+listed+`","reason":"configuration"},{"pubkey":"`+bob+`"}]`, "listallowedpubkeys")
	if !slices.Equal(w.rules.Authors, []string{listed, bob}) || !slices.Equal(w.rules.BanAuthors, []string{banned, alice}) {
		t.Errorf("rules %+v", w.rules)
	}
	// To allow is to lift a ban, and the reverse; to lift is neither.
	w.want(`true`, "allowpubkey", alice, nil)
	w.want(`true`, "banpubkey", bob)
	w.want(`true`, "unallowpubkey", bob) // is banned, and stays so
	w.want(`true`, "unbanpubkey", alice) // is allowed, and stays so
	if !slices.Equal(w.rules.Authors, []string{listed, alice}) || !slices.Equal(w.rules.BanAuthors, []string{banned, bob}) {
		t.Errorf("rules %+v", w.rules)
	}
	w.want(`true`, "unbanpubkey", bob)
	w.want(`true`, "unallowpubkey", alice)
	if !slices.Equal(w.rules.Authors, []string{listed}) || !slices.Equal(w.rules.BanAuthors, []string{banned}) {
		t.Errorf("rules %+v", w.rules)
	}
	// The configuration's word stands, and the answer does not say otherwise.
	w.want(`restricted: the configuration bans this key…`, "unbanpubkey", banned)
	w.want(`restricted: the configuration bans this key…`, "allowpubkey", banned)
	w.want(`restricted: the configuration lists this key…`, "unallowpubkey", listed)
	w.want(`true`, "banpubkey", listed)
	w.want(`[]`, "listallowedpubkeys")
}

// TestAllowingShutsNobodyOut: where everybody may write, a first entry in a
// list of allowed keys or kinds must not close the relay.
func TestAllowingShutsNobodyOut(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{})
	w.want(`true`, "allowpubkey", alice)
	w.want(`true`, "allowkind", 1)
	if len(w.rules.Authors)+len(w.rules.Kinds) != 0 {
		t.Errorf("rules %+v", w.rules)
	}
	w.want(`[1]`, "listallowedkinds")
	w.configure(management.Config{Authors: []string{listed}, Kinds: []int{7}, Restricted: true}) // SIGHUP
	if !slices.Equal(w.rules.Authors, []string{listed, alice}) || !slices.Equal(w.rules.Kinds, []int{7, 1}) {
		t.Errorf("rules %+v", w.rules)
	}
}

func TestKinds(t *testing.T) {
	w := newWorld(t, management.Config{Kinds: []int{30174, 1}, BanKinds: []int{4}}, management.Options{})
	w.want(`true`, "allowkind", 7)
	w.want(`true`, "disallowkind", 1)
	w.want(`[7,30174]`, "listallowedkinds")
	w.want(`[1,4]`, "listdisallowedkinds")
	w.want(`restricted: the configuration bans this kind…`, "allowkind", 4)
	if !slices.Equal(w.rules.Kinds, []int{30174, 1, 7}) || !slices.Equal(w.rules.BanKinds, []int{4, 1}) {
		t.Errorf("rules %+v", w.rules)
	}
	w.want(`true`, "allowkind", 1)
	w.want(`[4]`, "listdisallowedkinds")
}

func TestEvents(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{})
	w.want(`true`, "banevent", eventA, "illegal")
	w.want(`true`, "allowevent", eventB, "appeal")
	w.want(`[{"id":"`+eventA+`","reason":"illegal"}]`, "listbannedevents")
	w.want(`[{"id":"`+eventB+`","reason":"appeal"}]`, "listallowedevents")
	w.want(`true`, "unbanevent", eventB)
	w.want(`true`, "unallowevent", eventA)
	if !slices.Equal(w.rules.BannedEvents, []string{eventA}) || !slices.Equal(w.rules.AllowedEvents, []string{eventB}) {
		t.Errorf("rules %+v", w.rules)
	}
	w.want(`true`, "unbanevent", eventA)
	w.want(`true`, "banevent", eventB)
	if !slices.Equal(w.rules.BannedEvents, []string{eventB}) || len(w.rules.AllowedEvents) != 0 {
		t.Errorf("rules %+v", w.rules)
	}
}

func TestNetworks(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{})
	for _, ip := range []string{"192.0.2.1", "198.51.100.77/24", "2001:db8::1", "2001:db8:1::/64", "::ffff:192.0.2.9"} {
		w.want(`true`, "blockip", ip, "why")
	}
	w.want(`[{"ip":"192.0.2.1","reason":"why"},{"ip":"198.51.100.0/24","reason":"why"},{"ip":"2001:db8::1","reason":"why"},`+
		`{"ip":"2001:db8:1::/64","reason":"why"},{"ip":"192.0.2.9","reason":"why"}]`, "listblockedips")
	for addr, want := range map[string]bool{
		"192.0.2.1": true, "192.0.2.2": false, "::ffff:192.0.2.1": true, "198.51.100.200": true, "2001:db8::1": true,
		"2001:db8::2": false, "2001:db8:1::beef": true, "2001:db8:1:1::": false, "192.0.2.9": true, "fe80::1%eth0": false,
	} {
		if got := w.rules.Blocked(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s is blocked: %v", addr, got)
		}
	}
	if w.rules.Blocked(netip.Addr{}) {
		t.Error("an unknown address is blocked")
	}
	w.want(`restricted: this would block the address that you call from`, "blockip", "203.0.113.0/24")
	w.want(`restricted: this is part of the blocked network 198.51.100.0/24…`, "unblockip", "198.51.100.77")
	for _, ip := range []string{"192.0.2.1", "198.51.100.0/24", "2001:db8::1", "2001:db8:1::/64", "192.0.2.9", "192.0.2.200"} {
		w.want(`true`, "unblockip", ip)
	}
	if w.rules.Blocked != nil {
		t.Error("somebody is blocked still")
	}
}

func TestDescription(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{})
	w.want(`true`, "changerelayname", "Käthe's relay")
	w.want(`true`, "changerelaydescription", "two\nlines")
	w.want(`true`, "changerelayicon", "https://example.com/i.png")
	if w.rules.Name != "Käthe's relay" || w.rules.Description != "two\nlines" || w.rules.Icon != "https://example.com/i.png" {
		t.Errorf("rules %+v", w.rules)
	}
	w.want(`true`, "changerelayname", "")
	if w.rules.Name != "" {
		t.Errorf("name %q", w.rules.Name)
	}
}

// TestListsSurviveARestart and hold under another configuration.
func TestListsSurviveARestart(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{})
	w.want(`true`, "banpubkey", alice)
	w.want(`true`, "banevent", eventA)
	w.want(`true`, "disallowkind", 7)
	w.want(`true`, "blockip", "192.0.2.1")
	w.want(`true`, "changerelayname", "kept")
	w.rules = management.Rules{}
	w.open(management.Config{BanAuthors: []string{banned}}, management.Options{})
	r := w.rules
	if !slices.Equal(r.BanAuthors, []string{banned, alice}) || !slices.Equal(r.BannedEvents, []string{eventA}) || !slices.Equal(r.BanKinds, []int{7}) ||
		r.Name != "kept" || !r.Blocked(netip.MustParseAddr("192.0.2.1")) {
		t.Errorf("rules %+v", r)
	}
}

// TestWhatCannotBePreparedIsNotKept: database, rules in force and answers go
// together.
func TestWhatCannotBePreparedIsNotKept(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{})
	sets := w.sets
	w.fail = errors.New("no")
	w.want(`error: the relay could not carry out the call; nothing was changed`, "banpubkey", alice)
	w.fail = nil
	w.want(`[]`, "listbannedpubkeys")
	w.want(`true`, "unbanpubkey", alice) // changes nothing
	if w.sets != sets {
		t.Errorf("rules were put into force %d times", w.sets-sets)
	}
	w.fail = errors.New("no")
	if err := w.Configure(management.Config{Keys: []string{alice}}, w.prepare); err == nil || w.Manages(alice) || !w.Manages(manager) {
		t.Errorf("a configuration that failed is in force: %v", err)
	}
}
