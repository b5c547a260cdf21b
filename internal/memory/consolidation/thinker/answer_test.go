package thinker

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

const good = `{"operations":[{"op":"keep","slug":"mem/a"}]}`

// TestAnswer: the one object is found whatever a model puts around it, and what
// leaves a doubt is no answer.
func TestAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		ops  int
		why  string // of a refusal
	}{
		"alone":               {good, 1, ""},
		"nothing to do":       {`{"operations":[]}`, 0, ""},
		"fence":               {"```json\n" + good + "\n```", 1, ""},
		"fence, no language":  {"```\n" + good + "\n```\n", 1, ""},
		"fence in prose":      {"Here is the plan:\n\n```json\n" + good + "\n```\n\nI kept {one} of them.", 1, ""},
		"prose":               {"I looked at it. " + good + " That is all.", 1, ""},
		"list":                {`[{"op":"keep","slug":"mem/a"}]`, 1, ""},
		"list in a fence":     {"```json\n[]\n```", 0, ""},
		"thoughts":            {"<think>maybe " + good + "?</think>\n" + good, 1, ""},
		"another object":      {`{"note":"hello"} ` + good, 1, ""},
		"braces in prose":     {"sets {a, b} and {{x}} and {\"y\"} " + good, 1, ""},
		"braces in a text":    {`{"operations":[{"op":"keep","slug":"mem/a","why":"} {\" }"}]}`, 1, ""},
		"empty":               {" \n", 0, "empty"},
		"words only":          {"I would rather not.", 0, "no JSON object"},
		"two plans":           {good + "\n" + good, 0, "two objects"},
		"two plans in fences": {"```json\n" + good + "\n```\nor\n```json\n{\"operations\":[]}\n```", 0, "two objects"},
		"half":                {good[:len(good)-3], 0, "in the middle"},
		"one and a half":      {good + good[:20], 0, "in the middle"},
		"inside another":      {`{"result":` + good + `}`, 0, "no JSON object"},
		"unknown member":      {`{"operations":[],"delete":"everything"}`, 0, "delete"},
		"twice":               {`{"operations":[],"operations":[{"op":"keep","slug":"mem/a"}]}`, 0, "twice"},
		"null":                {`{"operations":null}`, 0, "operations"},
		"garbage":             {"\x00\xff\xfe{\x00", 0, "no JSON object"},
		"too long":            {good + strings.Repeat(" ", MaxAnswer), 0, "longer"},
		"braces":              {strings.Repeat(`{"a":`, MaxAnswer/5), 0, "braces"},
		"braces that close":   {strings.Repeat(`{"a":`, 1000) + "x" + strings.Repeat("}", 1000), 0, "braces"},
	} {
		t.Run(name, func(t *testing.T) {
			ops, err := Answer([]byte(c.said))
			if c.why == "" {
				if err != nil || len(ops) != c.ops {
					t.Fatalf("%d operations, %v; want %d", len(ops), err, c.ops)
				}
				return
			}
			if !errors.Is(err, ErrAnswer) || !strings.Contains(err.Error(), c.why) || ops != nil {
				t.Fatalf("%v, %v; want ErrAnswer with %q", ops, err, c.why)
			}
		})
	}
}

// FuzzAnswer: whatever a model says ends in operations or in ErrAnswer, and what
// stands around an answer changes nothing in it.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{good, "```json\n" + good + "\n```", `{"a":{"operations":[]}}`, `{{{"`, `[`, good + good, `{"operations":[{"op":"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		ops, err := Answer(said)
		if err != nil {
			if !errors.Is(err, ErrAnswer) || ops != nil {
				t.Fatalf("%v, %v", ops, err)
			}
			return
		}
		if bytes.HasPrefix(bytes.TrimSpace(said), []byte("{")) && len(said) < MaxAnswer-20 {
			again, err := Answer([]byte("So: " + string(said) + "\nDone."))
			if err != nil || len(again) != len(ops) {
				t.Fatalf("with words around it: %v, %v", again, err)
			}
		}
	})
}
