package wire

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseFilters(t *testing.T) {
	key := strings.Repeat("ab", 32)
	for _, tt := range []struct {
		text string
		n    int
		want string // part of the error; "" means that it is taken
	}{
		{`[{}]`, 1, ""},
		{" [ {\"kinds\":[1]} ,\n{\"authors\":[\"" + key + "\"],\"limit\":5000} ] ", 2, ""},
		{`[{},{},{}]`, 3, ""},
		{`[{},{},{},{}]`, 0, "too many filters (at most 3)"},
		{`[]`, 0, "no filter"},
		{`{}`, 0, "array of filters"},
		{`{"kinds":[1]}`, 0, "array of filters"},
		{`[[{}]]`, 0, "object"},
		{`[null]`, 0, "object"},
		{`["REQ","x",{}]`, 0, "object"},
		{`[{},]`, 0, "expected a value"},
		{`[{} {}]`, 0, "comma"},
		{`[{}`, 0, "ends"},
		{`[{}]x`, 0, "trailing"},
		{`[{}][{}]`, 0, "trailing"},
		{``, 0, "array"},
		{`null`, 0, "array"},
		{`[{"kind":[1]}]`, 0, `"kind"`},
		{`[{"kinds":[1,2,3,4,5]}]`, 0, "too many values"},
		{`[{},{"kinds":null}]`, 0, `"kinds"`},
	} {
		got, err := ParseFilters([]byte(tt.text), Limits{Filters: 3, FilterValues: 4})
		if tt.want == "" {
			if err != nil || len(got) != tt.n {
				t.Errorf("%s: %v, %v", tt.text, got, err)
			}
			continue
		}
		if err == nil || got != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v, want an error about %q", tt.text, got, err, tt.want)
		}
	}
}

// FuzzParseFilters: an array of filters is read exactly as the rest of a REQ.
func FuzzParseFilters(f *testing.F) {
	for _, s := range []string{`[{}]`, `[]`, `[{"kinds":[1]},{"#d":["x"],"limit":0}]`, `[{"search":"a b:c"}`, `[{}]]`, "[\xff]"} {
		f.Add([]byte(s))
	}
	lim := Limits{Filters: 4, FilterValues: 6}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseFilters(b, lim)
		rest := strings.TrimLeft(string(b), " \t\r\n")
		if !strings.HasPrefix(rest, "[") {
			if err == nil {
				t.Fatalf("%q is no array", b)
			}
			return
		}
		frame, frameErr := ParseFrame([]byte(`["REQ","x",`+rest[1:]), lim)
		if (err == nil) != (frameErr == nil) || err == nil && !reflect.DeepEqual(got, frame.Filters) {
			t.Fatalf("%q: %v, %v, but in a REQ %v, %v", b, got, err, frame.Filters, frameErr)
		}
	})
}
