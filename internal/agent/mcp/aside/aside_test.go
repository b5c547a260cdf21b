package aside

import (
	"encoding/json"
	"testing"
)

// FuzzMeant: whatever a client sends, what is handed on are arguments without the one that
// says which tool is meant, or nothing.
func FuzzMeant(f *testing.F) {
	for _, text := range []string{`{"action":"rename","slug":"a","trigger":""}`, `{"action":"memory_history"}`, `{"action":["rename"]}`, `{"action":null}`, `{"action":"rename","action":"link"}`, `[]`, `null`, ``, `{"action":`} {
		f.Add(text)
	}
	all := Of(More, func(string) bool { return true })
	f.Fuzz(func(t *testing.T, text string) {
		a, own, is := all.Meant(json.RawMessage(text))
		var given map[string]json.RawMessage
		if is && (json.Unmarshal(own, &given) != nil || given[a.With] != nil || a.By != More) {
			t.Errorf("%q: %+v with %s", text, a, own)
		}
	})
}
