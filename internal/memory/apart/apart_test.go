package apart

import (
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/recall/answer"
)

// TestUnit: a text that is apart is found again byte for byte, with the one that is
// there, whatever it looks like.
func TestUnit(t *testing.T) {
	at := time.Date(2026, 11, 22, 6, 2, 44, 0, time.UTC)
	texts := []string{"plain", "---\ntrust: external\ntags: [a]\n---\nfront matter\n", "---\nof: mem/else\n---\n", "", "a\r\nb"}
	var all []answer.Held
	add := func(slug, text string) {
		all = append(all, answer.Held{Head: answer.Head{Slug: slug, UpdatedAt: at.Unix()}, Text: text})
	}
	add("core", "who I am")
	add("mem/a", "there")
	for i, text := range texts {
		of := "mem/a"
		if i == 1 {
			of = "core"
		}
		made, err := Unit{Of: of, Written: at, Text: text}.Render()
		if err != nil {
			t.Fatal(err)
		}
		add(string(Slug(string(rune('a'+i)))), made)
	}
	add("mem/sys/outbox/z", "no unit")
	add("mem/sys/other", "---\nof: mem/a\n---\nnone either")
	source, err := answer.Load(all, answer.State{})
	if err != nil {
		t.Fatal(err)
	}
	err = source.Read(t.Context(), func(v answer.View) error {
		found := In(v, "")
		if len(found) != len(texts) || len(In(v, "core")) != 1 || len(In(v, "mem/none")) != 0 {
			t.Fatalf("%+v", found)
		}
		for i, u := range found {
			if u.Text != texts[i] || !u.Written.Equal(at) || u.Now == "" || !u.Newer.Equal(at) || u.ID() != string(rune('a'+i)) || u.External() != (i == 1) {
				t.Errorf("%d: %+v", i, u)
			}
		}
		if diff := found[0].Diff(600); !strings.Contains(diff, "\n| -there\n") || !strings.Contains(diff, "\n| +plain\n") {
			t.Errorf("%q", diff)
		}
		if diff := found[0].Diff(30); len(diff) > 30 {
			t.Errorf("%q", diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
