package gate_test

import (
	"strings"
	"testing"

	"engramd/internal/relay/gate"
)

func TestNewTableRefuses(t *testing.T) {
	for _, c := range []struct {
		options gate.Options
		want    string // part of the error, which names the option
	}{
		{gate.Options{Wildcard: "Exclude"}, `gate.wildcard "Exclude"`},
		{gate.Options{IDs: "no"}, `gate.ids "no"`},
		{gate.Options{Contracts: "private"}, `gate.contracts "private"`},
		{gate.Options{Rules: []string{""}}, "want KIND READERS"},
		{gate.Options{Rules: []string{"30078"}}, "want KIND READERS"},
		{gate.Options{Rules: []string{"30078 author ids d"}}, "want KIND READERS"},
		{gate.Options{Rules: []string{"all author"}}, `"all" is no kind`},
		{gate.Options{Rules: []string{"-1 author"}}, `"-1" is no kind`},
		{gate.Options{Rules: []string{"65536 author"}}, `"65536" is no kind`},
		{gate.Options{Rules: []string{"30078 owner"}}, `"owner" is neither author nor p`},
		{gate.Options{Rules: []string{"30078 author, ids"}}, `"" is neither author nor p`},
		{gate.Options{Rules: []string{"30078 ids"}}, `"ids" is neither author nor p`},
		{gate.Options{Rules: []string{"30078 author,author"}}, `"author" is there twice`},
		{gate.Options{Rules: []string{"30078 author p"}}, `"p" is neither ids nor d`},
		{gate.Options{Rules: []string{"4550 author d"}}, "kind 4550 is not addressable"},
		{gate.Options{Rules: []string{"40000 author d"}}, "kind 40000 is not addressable"},
		{gate.Options{Rules: []string{"30078 author", "30078 p"}}, "kind 30078 has a rule already"},
		{gate.Options{Rules: []string{"4 author ids"}}, "kind 4 has a built-in rule"},
		{gate.Options{Rules: []string{"5 author"}}, "kind 5 has a built-in rule"},
		{gate.Options{Rules: []string{"1059 author,p"}}, "kind 1059 has a built-in rule"},
		{gate.Options{Rules: []string{"21059 p ids"}}, "kind 21059 has a built-in rule"},
		{gate.Options{Rules: []string{"21059 author"}}, "kind 21059 has a built-in rule"},
		{gate.Options{Rules: []string{"44200 p"}}, "kind 44200 has a built-in rule"},
		{gate.Options{Rules: []string{"24200 p"}}, "kind 24200 has a built-in rule"},
		{gate.Options{Rules: []string{"30179 author,p"}}, "kind 30179 has a built-in rule"},
		{gate.Options{Rules: []string{"30300 author ids"}}, "kind 30300 has a built-in rule"},
		{gate.Options{Rules: []string{"30090 p"}}, "kind 30090 has a built-in rule"},
		{gate.Options{Rules: []string{"30091 p"}}, "kind 30091 has a built-in rule"},
		{gate.Options{Rules: []string{"30174 author"}}, "kind 30174 has a built-in rule"},
	} {
		_, err := gate.NewTable(c.options)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want an error with %q", c.options, err, c.want)
		}
	}
}

func TestDefaultsByName(t *testing.T) {
	named := gate.Options{Wildcard: gate.WildcardReject, IDs: gate.IDsExempt, Contracts: gate.ContractsContract}
	if _, err := gate.NewTable(named); err != nil {
		t.Error(err)
	}
}

func TestGated(t *testing.T) {
	plain, ruledTable := mustTable(t, public), mustTable(t, ruled)
	for _, kind := range []int{4, 1059, 21059, 24200, 30090, 30091, 30174, 30179, 30300, 44200} {
		if !plain.Gated(kind) {
			t.Errorf("kind %d is not gated", kind)
		}
	}
	for _, kind := range []int{0, 1, 5, 30023, -1, 70000} {
		if plain.Gated(kind) || ruledTable.Gated(kind) {
			t.Errorf("kind %d is gated", kind)
		}
	}
	for _, kind := range []int{30078, 4550, 30500} {
		if plain.Gated(kind) || !ruledTable.Gated(kind) {
			t.Errorf("kind %d must be gated by its rule only", kind)
		}
	}
}

// TestFingerprint: it changes with what Classify depends on, and with nothing
// else.
func TestFingerprint(t *testing.T) {
	of := func(o gate.Options) string {
		t.Helper()
		table, err := gate.NewTable(o)
		if err != nil {
			t.Fatal(err)
		}
		return table.Fingerprint()
	}
	one := of(gate.Options{Rules: []string{"30078 author", "4550 p"}})
	if other := of(gate.Options{Rules: []string{"4550 p", "30078  author"}, IDs: "party", Contracts: "public", Wildcard: "exclude"}); other != one {
		t.Errorf("the same rules have the fingerprints %q and %q", one, other)
	}
	for _, rules := range [][]string{nil, {"30078 author"}, {"30078 author", "4550 p ids"}, {"30078 author", "4551 p"}} {
		if other := of(gate.Options{Rules: rules}); other == one {
			t.Errorf("the rules %q have the fingerprint of others", rules)
		}
	}
	if of(gate.Options{Rules: []string{"21059 p", "24200 author,p", "30179 author", "30300 author"}}) != of(gate.Options{}) {
		t.Error("a rule that says what is built in has a fingerprint of its own")
	}
	if of(gate.Options{}) == "" {
		t.Error("no rules have no fingerprint: a store could not tell them from never classified")
	}
}
