package aside

import (
	"encoding/json"
	"testing"
)

// TestMeantLeavesOut: what the tool does not take and what says nothing is left out, and
// nothing else.
func TestMeantLeavesOut(t *testing.T) {
	all := Of(Write, func(string) bool { return true })
	takes := func(string) []string { return []string{"slug", "text", "base", "allow_secret"} }
	for text, want := range map[string]string{
		`{"mode":"append","slug":"a","text":"b","description":"","type":"","tags":[],"expires":"","salience":null,"allow_placeholder":false}`: `{"slug":"a","text":"b"}`,
		`{"mode":"append","slug":"a","text":"","base":null,"allow_secret":false}`:                                                             `{"allow_secret":false,"base":null,"slug":"a","text":""}`,
		`{"mode":"append","slug":"a","text":"b","tags":["c"],"salience":0,"type":"x"}`:                                                        `{"salience":0,"slug":"a","tags":["c"],"text":"b","type":"x"}`,
	} {
		if _, own, is := all.Meant(json.RawMessage(text), takes); !is || string(own) != want {
			t.Errorf("%s: %s", text, own)
		}
	}
}

// FuzzMeant: whatever a client sends, what is handed on are arguments without the one that
// says which tool is meant, or nothing.
func FuzzMeant(f *testing.F) {
	for _, text := range []string{`{"action":"rename","slug":"a","trigger":""}`, `{"action":"memory_history"}`, `{"action":["rename"]}`, `{"action":null}`, `{"action":"rename","action":"link"}`, `[]`, `null`, ``, `{"action":`} {
		f.Add(text)
	}
	all := Of(More, func(string) bool { return true })
	f.Fuzz(func(t *testing.T, text string) {
		a, own, is := all.Meant(json.RawMessage(text), func(string) []string { return nil })
		var given map[string]json.RawMessage
		if is && (json.Unmarshal(own, &given) != nil || given[a.With] != nil || a.By != More) {
			t.Errorf("%q: %+v with %s", text, a, own)
		}
	})
}
