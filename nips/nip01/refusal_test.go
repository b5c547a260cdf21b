package nip01_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"engramd/nips/nip01"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ message, prefix, text string }{
		{"invalid: no d tag", "invalid", "no d tag"},
		{"rate-limited: slow: down", "rate-limited", "slow: down"},
		{"custom-word: x", "custom-word", "x"},
		{"invalid: ", "invalid", ""},
		{"invalid:no space", "blocked", "invalid:no space"},
		{"not a word: x", "blocked", "not a word: x"},
		{": x", "blocked", ": x"},
		{"no", "blocked", "no"},
		{"", "blocked", "no reason given"},
	} {
		if got := nip01.Parse(c.message); *got != (nip01.Refusal{Prefix: c.prefix, Text: c.text}) {
			t.Errorf("%q: %+v", c.message, got)
		}
	}
}

func TestHas(t *testing.T) {
	r := nip01.Refuse(nip01.PrefixInvalid, "kind %d", 5)
	var none *nip01.Refusal
	if !r.Has("invalid") || r.Has("error") || none.Has("invalid") || none.Has("") || r.Error() != "invalid: kind 5" {
		t.Errorf("%v", r)
	}
}

func TestIs(t *testing.T) {
	r, same := nip01.Refuse(nip01.PrefixInvalid, "x"), nip01.Refuse(nip01.PrefixInvalid, "x")
	var none *nip01.Refusal
	if !r.Is(same) || !errors.Is(fmt.Errorf("row 7: %w", r), same) {
		t.Error("two that say the same are not the same")
	}
	for _, other := range []error{nip01.Refuse(nip01.PrefixInvalid, "y"), nip01.Refuse(nip01.PrefixBlocked, "x"), none, errors.New(r.Error()), nil} {
		if r.Is(other) || none.Is(other) {
			t.Errorf("%v is %v", r, other)
		}
	}
}

// FuzzParse: what has a prefix goes out as it came in, what has none as blocked, and
// what was read once is read the same again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "invalid: x", "a b: c", ": ", "error:x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := nip01.Parse(text)
		if again := nip01.Parse(r.Error()); *again != *r {
			t.Errorf("%q: %+v and then %+v", text, r, again)
		}
		if r.Prefix == "" || strings.Contains(r.Prefix, " ") {
			t.Errorf("%q has the prefix %q", text, r.Prefix)
		}
		if got := r.Error(); text != "" && got != text && got != "blocked: "+text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
