package web_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"engramd/internal/e2e/golden"
)

// The tables of cases in testdata/vectors/web-*.json say what Go takes a text, an
// event or a log for. The page is held to the same tables, in testdata/web/unit.
const vectors = "../../testdata/vectors"

// table is one file of cases: about says what they are, the rest is by name.
type table struct {
	name     string
	about    string
	sections []section
}

type section struct {
	name  string
	cases []any
}

// hold fails if a table is not what Go says today.
func (tb *table) hold(t *testing.T, least int) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("{\n  \"about\": " + line(t, tb.about))
	n := 0
	for _, s := range tb.sections {
		out.WriteString(",\n  " + line(t, s.name) + ": [")
		for i, c := range s.cases {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString("\n    " + line(t, c))
			n++
		}
		out.WriteString("\n  ]")
	}
	out.WriteString("\n}\n")
	if n < least {
		t.Errorf("%s has %d cases instead of %d and more", tb.name, n, least)
	}
	golden.Check(t, filepath.Join(vectors, tb.name), out.String())
}

// line returns a value as JSON on one line.
func line(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
}

// seeded returns a source that gives the same in every run.
func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 19)) }

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// published are the parts of nip-ae.json that the tables begin with.
type published struct {
	Inputs struct {
		Agent string `json:"seckey_a"`
		Owner string `json:"seckey_o"`
	} `json:"inputs"`
	Events []struct {
		Body string `json:"body"`
		Slug string `json:"slug"`
	} `json:"events"`
}

func readPublished(t *testing.T) (p published) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(vectors, "nip-ae.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	if len(p.Events) == 0 {
		t.Fatal("nip-ae.json has no events")
	}
	return p
}
