package consolidation

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// manyNames are those of an object, all of them different.
func manyNames(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.FormatInt(int64(i), 36)
	}
	return strings.Join(names, `":1,"`)
}

// An answer is read strictly: what a model means never depends on who reads it.
func TestParseOps(t *testing.T) {
	keep := []Op{{Op: "keep", Slug: "mem/a"}}
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"op":"keep","slug":"mem/a"},`, MaxOps+1), ",") + "]"
	for name, tc := range map[string]struct {
		in   string
		want []Op
		err  string
	}{
		"a list":            {`[{"op":"keep","slug":"mem/a"}]`, keep, ""},
		"an object":         {` {"operations": [{"op":"keep","slug":"mem/a"}]} `, keep, ""},
		"nothing to do":     {`{"operations": []}`, []Op{}, ""},
		"an empty list":     {`[]`, []Op{}, ""},
		"as many as may be": {strings.Replace(many, `{"op":"keep","slug":"mem/a"},`, "", 1), nil, ""},
		"one too many":      {many, nil, "65 of them"},
		"nothing":           {``, nil, "EOF"},
		"no operations":     {`{}`, nil, "operations"},
		"null":              {`null`, nil, "null"},
		"null operations":   {`{"operations": null}`, nil, "operations"},
		"null in it":        {`[null]`, nil, "null"},
		"two answers":       {`[] []`, nil, "follows"},
		"words around it":   {"Here you are: []", nil, "invalid"},
		"an unknown member": {`[{"op":"keep","slug":"mem/a","trust":"told"}]`, nil, "trust"},
		"one beside":        {`{"operations": [], "plan": "p-1"}`, nil, "plan"},
		"a member twice":    {`[{"op":"keep","slug":"mem/a","slug":"mem/b"}]`, nil, "twice"},
		"in another case":   {`[{"op":"keep","slug":"mem/a","Slug":"mem/b"}]`, nil, "twice"},
		"lists twice":       {`{"operations":[{"op":"keep","slug":"mem/a"}],"operations":[{"op":"archive"}]}`, nil, "twice"},
		"a wrong type":      {`[{"op":"keep","slug":7}]`, nil, "slug"},
		"text for a list":   {`[{"op":"write","derived_from":"mem/a"}]`, nil, "derived_from"},
		"too deep":          {strings.Repeat("[", 100000), nil, "deep"},
		"many members":      {`[{"` + manyNames(100_000) + `":1}]`, nil, "members"},
		"many around it":    {`{"` + manyNames(100_000) + `":[]}`, nil, "members"},
		"a long name":       {`[{"` + strings.Repeat("é", 9000) + `":1}]`, nil, "unknown"},
		"a long name twice": {`[{"` + strings.Repeat("é", 9000) + `":1,"` + strings.Repeat("é", 9000) + `":1}]`, nil, "éé"},
		"too long":          {"[" + strings.Repeat(" ", maxAnswer) + "]", nil, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseOps(strings.NewReader(tc.in))
			if tc.err == "" {
				if err != nil || tc.want != nil && !reflect.DeepEqual(got, tc.want) {
					t.Fatalf("%+v, %v", got, err)
				}
				return
			}
			if len(err.Error()) > 1000 {
				t.Errorf("the error repeats %d bytes", len(err.Error()))
			}
			if !errors.Is(err, ErrOps) || !strings.Contains(err.Error(), tc.err) || got != nil {
				t.Fatalf("%+v, %v", got, err)
			}
		})
	}
}

// What is read is bounded, and says the same when it is written and read again.
func FuzzParseOps(f *testing.F) {
	for _, s := range []string{
		`{"operations":[{"op":"write","slug":"mem/x","text":"t","derived_from":["mem/a"]}]}`, `[{"op":"keep"}]`, `[]`, `{}`, `null`,
		`[{"op":"supersede","old":"mem/a","new":"mem/b","why":"\u0000"}]`, `[[[[[[`, `{"operations":{"op":[]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ops, err := ParseOps(strings.NewReader(string(b)))
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("the error repeats %d bytes", len(err.Error()))
			}
			if !errors.Is(err, ErrOps) || ops != nil {
				t.Fatalf("%+v, %v", ops, err)
			}
			return
		}
		if len(ops) > MaxOps {
			t.Fatalf("%d operations", len(ops))
		}
		written, err := json.Marshal(ops)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseOps(strings.NewReader(string(written)))
		if err == nil {
			twice, _ := json.Marshal(again)
			if string(twice) != string(written) {
				t.Fatalf("%s\n%s", written, twice)
			}
		} else if len(written) <= maxAnswer {
			t.Fatal(err)
		}
	})
}
