package gate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
	"engramd/nips/nip01"
)

const (
	pass       = ""
	auth       = nip01.PrefixAuthRequired
	restricted = nip01.PrefixRestricted
)

// firstCheck is one row of the first check's table: the answers to nobody, to
// the agent, and to agent and owner together.
type firstCheck struct {
	name    string
	options oracle.Options
	filter  nostr.Filter
	nobody  string
	agent   string
	both    string
}

var (
	exclude  = oracle.Options{Wildcard: "exclude"}
	idsParty = oracle.Options{IDs: "party"}
	parties  = oracle.Options{Contracts: "parties"}
	public   = oracle.Options{Contracts: "public"}
	ruled    = oracle.Options{Rules: []string{"30078 author", "4550 author,p ids", "30500 p d"}}
	none     = oracle.Options{}
)

func firstChecks() []firstCheck {
	engrams, any := kinds(30174), nostr.Filter{}
	wraps, entries := kinds(1059), kinds(30090)
	return []firstCheck{
		{"engrams of all", none, engrams, auth, restricted, restricted},
		{"my engrams", none, with(engrams, "authors", agent), auth, pass, pass},
		{"engrams to my owner, as the agent", none, with(engrams, "p", owner), auth, restricted, pass},
		{"engrams to me", none, with(engrams, "p", agent), auth, pass, pass},
		{"mine and another's", none, with(engrams, "authors", agent, stranger), auth, restricted, restricted},
		{"mine and my owner's", none, with(engrams, "authors", agent, owner), auth, restricted, pass},
		{"another's, to me", none, with(with(engrams, "authors", stranger), "p", agent), auth, pass, pass},
		{"mine, to another", none, with(with(engrams, "authors", agent), "p", stranger), auth, pass, pass},
		{"an engram by id", none, with(engrams, "ids", someID), pass, pass, pass},
		{"an engram by id, ids for parties", idsParty, with(engrams, "ids", someID), auth, restricted, restricted},
		{"an engram by id and author, ids for parties", idsParty, with(with(engrams, "ids", someID), "authors", agent), auth, pass, pass},
		{"engrams by d", none, with(engrams, "d", otherID), auth, restricted, restricted},
		{"engrams by search", none, nostr.Filter{Kinds: []int{30174}, Search: "x"}, auth, restricted, restricted},
		{"engrams, live only", none, nostr.Filter{Kinds: []int{30174}, LimitZero: true}, auth, restricted, restricted},

		{"entries of all", none, entries, auth, restricted, restricted},
		{"entries of a contract", none, with(entries, "d", contractID), pass, pass, pass},
		{"entries and states of a contract", none, with(kinds(30090, 30091), "d", contractID), pass, pass, pass},
		{"entries of a contract for parties", parties, with(entries, "d", contractID), auth, restricted, restricted},
		{"entries by id for parties", parties, with(entries, "ids", someID), pass, pass, pass},
		{"entries by id, engram ids for parties", idsParty, with(entries, "ids", someID), pass, pass, pass},
		{"public entries", public, kinds(30090, 30091), pass, pass, pass},
		{"public entries and engrams", public, kinds(30090, 30174), auth, restricted, restricted},
		{"engrams and entries by d", none, with(kinds(30174, 30090), "d", contractID), auth, restricted, restricted},
		{"my engrams and entries", none, with(kinds(30174, 30090), "authors", agent), auth, pass, pass},

		{"wraps of all", none, wraps, auth, restricted, restricted},
		{"wraps to me", none, with(wraps, "p", agent), auth, pass, pass},
		{"wraps by me", none, with(wraps, "authors", agent), auth, restricted, restricted},
		{"wraps by id", none, with(wraps, "ids", someID), auth, restricted, restricted},
		{"wraps by d", none, with(wraps, "d", contractID), auth, restricted, restricted},
		{"turn metrics by me", none, with(kinds(44200), "authors", agent), auth, restricted, restricted},
		{"turn metrics to me", none, with(kinds(44200), "p", agent), auth, pass, pass},
		{"engram and wrap by id", none, with(kinds(30174, 1059), "ids", someID), auth, restricted, restricted},
		{"engrams and wraps by me", none, with(kinds(30174, 1059), "authors", agent), auth, restricted, restricted},
		{"engrams by id and wraps to me", none, with(with(kinds(30174, 1059), "ids", someID), "p", agent), auth, pass, pass},

		{"messages of all", none, kinds(4), auth, restricted, restricted},
		{"messages by me", none, with(kinds(4), "authors", agent), auth, pass, pass},
		{"messages to me", none, with(kinds(4), "p", agent), auth, pass, pass},
		{"messages by id", none, with(kinds(4), "ids", someID), auth, restricted, restricted},
		{"what agents do", none, kinds(24200), auth, restricted, restricted},
		{"what I do", none, with(kinds(24200), "authors", agent), auth, pass, pass},
		{"what is done for me", none, with(kinds(24200), "p", agent), auth, pass, pass},
		{"reminders of all", none, kinds(30300), auth, restricted, restricted},
		{"my reminders", none, with(kinds(30179, 30300), "authors", agent), auth, pass, pass},
		{"reminders to me", none, with(kinds(30300), "p", agent), auth, restricted, restricted},
		{"reminders by id", none, with(kinds(30300), "ids", someID), auth, restricted, restricted},
		{"reminders by d", none, with(kinds(30179), "d", contractID), auth, restricted, restricted},

		{"notes", none, kinds(1), pass, pass, pass},
		{"notes and engrams", none, kinds(1, 30174), auth, restricted, restricted},
		{"engrams and notes", none, kinds(30174, 1), auth, restricted, restricted},
		{"notes and my engrams", none, with(kinds(1, 30174), "authors", agent), auth, pass, pass},
		{"deletion requests", none, kinds(5), pass, pass, pass},
		{"deletion requests and engrams", none, kinds(5, 30174), auth, restricted, restricted},
		{"application data", none, kinds(30078), pass, pass, pass},
		{"lists of approved agents", none, with(kinds(30078), "d", gate.ApprovalD), pass, pass, pass},

		{"everything", none, any, auth, restricted, restricted},
		{"everything, exclude", exclude, any, pass, pass, pass},
		{"anything by id", none, with(any, "ids", someID), pass, pass, pass},
		{"anything by id, ids for parties", idsParty, with(any, "ids", someID), pass, pass, pass},
		{"anything of mine", none, with(any, "authors", agent), auth, pass, pass},
		{"anything to me", none, with(any, "p", agent), auth, pass, pass},
		{"anything of mine and another's", none, with(any, "authors", agent, stranger), auth, restricted, restricted},
		{"anything of another's", none, with(any, "authors", stranger), auth, restricted, restricted},
		{"anything to mine and another", none, with(any, "p", agent, owner), auth, restricted, pass},
		{"anything by d", none, with(any, "d", contractID), auth, restricted, restricted},
		{"anything by d, exclude", exclude, with(any, "d", contractID), pass, pass, pass},
		{"anything by d, public", public, with(any, "d", contractID), auth, restricted, restricted},
		{"anything by another tag", none, with(any, "e", someID), auth, restricted, restricted},
		{"anything by search", none, nostr.Filter{Search: "x"}, auth, restricted, restricted},
		{"engrams, exclude", exclude, engrams, auth, restricted, restricted},

		// An empty list satisfies no requirement; where none is made it is served.
		{"engrams by no id", none, with(engrams, "ids"), auth, restricted, restricted},
		{"engrams by nobody", none, with(engrams, "authors"), auth, restricted, restricted},
		{"engrams to nobody", none, with(engrams, "p"), auth, restricted, restricted},
		{"entries of no contract", none, with(entries, "d"), auth, restricted, restricted},
		{"my engrams to nobody", none, with(with(engrams, "authors", agent), "p"), auth, pass, pass},
		{"an engram by id, of nobody", none, with(with(engrams, "ids", someID), "authors"), pass, pass, pass},
		{"anything of nobody", none, with(any, "authors"), auth, restricted, restricted},
		{"anything by no id", none, with(any, "ids"), auth, restricted, restricted},
		{"notes of nobody", none, with(kinds(1), "authors"), pass, pass, pass},
		{"no kinds at all", none, nostr.Filter{Kinds: []int{}}, pass, pass, pass},

		{"ruled: author", ruled, kinds(30078), auth, restricted, restricted},
		{"ruled: author, mine", ruled, with(kinds(30078), "authors", agent), auth, pass, pass},
		{"ruled: author, to me", ruled, with(kinds(30078), "p", agent), auth, restricted, restricted},
		{"ruled: author, by id", ruled, with(kinds(30078), "ids", someID), auth, restricted, restricted},
		{"ruled: both, to me", ruled, with(kinds(4550), "p", agent), auth, pass, pass},
		{"ruled: both, by id", ruled, with(kinds(4550), "ids", someID), pass, pass, pass},
		{"ruled: p, by me", ruled, with(kinds(30500), "authors", agent), auth, restricted, restricted},
		{"ruled: p, by d", ruled, with(kinds(30500), "d", "x"), pass, pass, pass},
		{"ruled: others", ruled, kinds(1, 30501), pass, pass, pass},
	}
}

func TestFirstCheck(t *testing.T) {
	for _, c := range firstChecks() {
		t.Run(c.name, func(t *testing.T) {
			table := mustTable(t, c.options)
			for _, who := range []struct {
				keys []string
				want string
			}{{nil, c.nobody}, {[]string{agent}, c.agent}, {[]string{agent, owner}, c.both}} {
				_, err := table.ScopeFor(gate.NewReader(who.keys...), c.filter)
				if got := prefixOf(t, err); got != who.want {
					t.Errorf("%d keys: %q, want %q", len(who.keys), got, who.want)
				}
				if got := oracle.Refused(c.options, who.keys, c.filter); got != who.want {
					t.Errorf("%d keys: the oracle says %q, want %q", len(who.keys), got, who.want)
				}
			}
		})
	}
}

func prefixOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return pass
	}
	var refusal *gate.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("%T is no refusal: %v", err, err)
	}
	if !strings.HasPrefix(err.Error(), refusal.Prefix+": ") || refusal.Text == "" {
		t.Errorf("error text %q has not the form prefix: text", err)
	}
	return refusal.Prefix
}

// TestRefusalSaysWhatWorks: the text names a filter that would be granted under
// the options in force, and no value of the refused one.
func TestRefusalSaysWhatWorks(t *testing.T) {
	me := gate.NewReader(agent)
	for _, c := range []struct {
		options oracle.Options
		reader  gate.Reader
		filter  nostr.Filter
		rule    string
		want    string
	}{
		{none, me, with(kinds(1, 30174), "authors", stranger), "engram",
			"restricted: a filter for kind 30174 needs ids, or authors or #p naming only keys you have proved"},
		{idsParty, me, kinds(30174), "engram",
			"restricted: a filter for kind 30174 needs authors or #p naming only keys you have proved"},
		{none, gate.Reader{}, kinds(30174), "engram",
			"auth-required: a filter for kind 30174 needs ids, or authors or #p naming only keys you have proved; authenticate first"},
		{none, me, kinds(30091), "contract",
			"restricted: a filter for kind 30091 needs ids, #d with the contract's id, or authors or #p naming only keys you have proved"},
		{parties, me, kinds(30090), "contract",
			"restricted: a filter for kind 30090 needs ids, or authors or #p naming only keys you have proved"},
		{none, me, with(kinds(1059), "ids", someID), "wrap",
			"restricted: a filter for kind 1059 needs #p naming only keys you have proved"},
		{none, me, kinds(4), "direct",
			"restricted: a filter for kind 4 needs authors or #p naming only keys you have proved"},
		{ruled, me, kinds(30500), "configured",
			"restricted: a filter for kind 30500 needs #d, or #p naming only keys you have proved"},
		{none, me, with(nostr.Filter{}, "authors", stranger), "wildcard",
			"restricted: a filter without kinds needs ids, or authors or #p naming only keys you have proved; or let it name the kinds"},
	} {
		_, err := mustTable(t, c.options).ScopeFor(c.reader, c.filter)
		var refusal *gate.Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%v: %v, want a refusal", c.filter, err)
			continue
		}
		if refusal.Rule != c.rule || refusal.Error() != c.want {
			t.Errorf("%v:\n got %s %q\nwant %s %q", c.filter, refusal.Rule, refusal.Error(), c.rule, c.want)
		}
	}
}

// TestRefusedScopeSeesNothing: a caller that ignores the error has a scope that
// sees nothing gated.
func TestRefusedScopeSeesNothing(t *testing.T) {
	table := mustTable(t, none)
	scope, err := table.ScopeFor(gate.NewReader(agent), kinds(30174))
	if err == nil {
		t.Fatal("not refused")
	}
	if scope.CanRead(table.Subject(engram())) || scope.Clauses() != nil || scope.All() {
		t.Errorf("the scope beside a refusal sees its reader's engram")
	}
}

func TestScopeRule(t *testing.T) {
	me := gate.NewReader(agent)
	for _, c := range []struct {
		filter nostr.Filter
		want   string
	}{
		{kinds(1), "open"},
		{kinds(5), "open"},
		{with(kinds(1, 30174), "authors", agent), "engram"},
		{with(kinds(30091), "d", contractID), "contract"},
		{with(kinds(30078), "authors", agent), "configured"},
		{with(nostr.Filter{}, "ids", someID), "wildcard"},
	} {
		scope, err := mustTable(t, ruled).ScopeFor(me, c.filter)
		if err != nil || scope.Rule() != c.want {
			t.Errorf("%v: rule %q, %v; want %q", c.filter, scope.Rule(), err, c.want)
		}
	}
}
