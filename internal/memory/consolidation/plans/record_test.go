package plans

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
)

// seeds are the texts of a record that was written.
func seeds(t testing.TB) (head, part string) {
	t.Helper()
	c := content{Plan: shown(memory()), Operations: answer(), Changes: []consolidation.Change{{Slug: "mem/facts/old", Base: client.Hash("x\x00é\u2028"), Old: "x\x00é\u2028", New: "y"}}}
	parts, err := split(c)
	if err != nil {
		t.Fatal(err)
	}
	h := headOf(c, parts)
	text, err := headText(h)
	if err != nil {
		t.Fatal(err)
	}
	return text, parts[0]
}

func headOf(c content, parts []string) head {
	ops, _ := opsHash(c.Operations)
	return head{Plan: c.Plan.ID, Kind: c.Plan.Kind, Status: Open, Machine: "one", Nonce: "00", Began: testNow, Ops: ops, layout: laid(1, parts), Old: make([]string, len(c.Changes))}
}

func FuzzReadHead(f *testing.F) {
	head, _ := seeds(f)
	f.Add(head)
	f.Add(strings.Replace(head, `"open"`, `"undoing"`, 1))
	f.Add(`{"parts":null,"before":{"parts":[]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := readHead(shown(memory()).ID, text)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Errorf("%v", err)
			}
			return
		}
		if len(h.Parts) == 0 || len(h.Parts) > maxParts || len(h.Old) > maxChanges || h.From < 1 || h.Status.closed() != (h.Closed != nil) {
			t.Errorf("%+v", h)
		}
	})
}

func FuzzReadContent(f *testing.F) {
	text, part := seeds(f)
	f.Add(part)
	f.Add(strings.Replace(part, "mem/facts/old", "core", 1))
	f.Add(`{"changes":[{}]}`)
	h, err := readHead(shown(memory()).ID, text)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := readContent(h, []string{text})
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Errorf("%v", err)
			}
			return
		}
		for _, ch := range c.Changes {
			if ch.Slug == "core" || recallanswer.Reserved(ch.Slug) || ch.New == "" || ch.Base != "" && client.Hash(ch.Old) != ch.Base {
				t.Errorf("%+v", ch)
			}
		}
	})
}

// FuzzSplit: what is written as parts is read as it was, whatever texts hold.
func FuzzSplit(f *testing.F) {
	f.Add("x\x00é\u2028<\\\"", 9000)
	f.Add("𝄞", 20000)
	f.Fuzz(func(t *testing.T, filler string, times int) {
		if times < 1 || len(filler) == 0 || len(filler)*min(times, 1<<20) > 1<<18 || !utf8.ValidString(filler) {
			return
		}
		old := strings.Repeat(filler, times)
		c := content{Plan: shown(memory()), Operations: answer(), Changes: []consolidation.Change{{Slug: "mem/facts/old", Base: client.Hash(old), Old: old, New: filler}}}
		parts, err := split(c)
		if errors.Is(err, ErrTooLarge) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if cost(p) > maxBody {
				t.Errorf("a body of %d bytes", cost(p))
			}
		}
		got, err := readContent(headOf(c, parts), parts)
		if err != nil || !reflect.DeepEqual(got.Changes, c.Changes) {
			t.Errorf("it is read as something else: %v", err)
		}
	})
}

// TestLongHeadIsCut: a head that names too much that was left is written all the same.
func TestLongHeadIsCut(t *testing.T) {
	h := headOf(content{Plan: shown(memory()), Operations: answer()}, []string{"x"})
	for range maxChanges {
		h.Old = append(h.Old, strings.Repeat("0", 64))
		h.Left = append(h.Left, Left{"mem/" + strings.Repeat("a", 60), strings.Repeat("why ", 20)})
	}
	text, err := headText(h)
	if err != nil || cost(text) > maxBody {
		t.Fatalf("%d bytes, %v", cost(text), err)
	}
	got, err := readHead(h.Plan, text)
	if err != nil || len(got.Old) != maxChanges || len(got.Left) == 0 || len(got.Left) == maxChanges {
		t.Errorf("%d left, %v", len(got.Left), err)
	}
}
