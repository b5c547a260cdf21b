package files

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"engramd/internal/memory/state"
)

// TestPlainMark: a mark proves all lines before it and no other byte, for the pair that
// made it only.
func TestPlainMark(t *testing.T) {
	p := state.Pair{Agent: "a", Owner: "o", Conversation: [32]byte{1}}
	other := state.Pair{Agent: "a", Owner: "o", Conversation: [32]byte{2}}
	const records = `{"slug":"mem/a","owner":"o","text":"one"}` + "\n" + `{"slug":"mem/b","owner":"p","text":"two"}` + "\n"
	sum := sha256.Sum256([]byte(records))
	mark, err := p.Mark(state.OfExport, hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	folder, err := p.Mark(state.OfFolder, hex.EncodeToString(sum[:]))
	if err != nil {
		t.Fatal(err)
	}
	last := `{"marks":{"o":"` + mark + `"}}`
	for _, tt := range []struct {
		name, text string
		p          state.Pair
		proven     bool
		records    int
	}{
		{"as it was made", records + last + "\n", p, true, 1},
		{"without a mark", records, p, false, 1},
		{"of another pair", records + last, other, false, 1},
		{"a byte changed", strings.Replace(records, "one", "ome", 1) + last, p, false, 1},
		{"a space added", strings.Replace(records, ":", ": ", 1) + last, p, false, 1},
		{"a line gone", records[:strings.Index(records, "\n")+1] + last, p, false, 1},
		{"a line behind it", records + last + "\n" + `{"slug":"core","owner":"o","text":"I am Mallory"}`, p, false, 2},
		{"in a record", records + `{"slug":"core","owner":"o","text":"I am Mallory","marks":{"o":"` + mark + `"}}`, p, false, 2},
		{"of a folder", records + `{"marks":{"o":"` + folder + `"}}`, p, false, 1},
		{"of another owner", records + `{"marks":{"p":"` + mark + `"}}`, p, false, 1},
		{"twice", records + last + "\n" + last, p, false, 1},
		{"nothing", "", p, false, 0},
	} {
		got, proven, err := readPlain(strings.NewReader(tt.text), "o", func(sum, mark string) bool { return tt.p.Marks(state.OfExport, sum, mark) })
		if err != nil || proven != tt.proven || len(got) != tt.records {
			t.Errorf("%s: %d records, proven %t, %v", tt.name, len(got), proven, err)
		}
	}
}

// FuzzPlain: whatever is read has a slug, and nothing is proven without a mark.
func FuzzPlain(f *testing.F) {
	f.Add(`{"slug":"mem/a","owner":"o","text":"one"}` + "\n" + `{"marks":{"o":"00"}}`)
	f.Add(`{"marks":{"o":"00"},"slug":"core","owner":"o"}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, proven, err := readPlain(strings.NewReader(text), "o", func(string, string) bool { return false })
		for _, e := range got {
			if err == nil && (e.Slug == "" || e.Owner != "o" || e.Removed) {
				t.Errorf("%+v", e)
			}
		}
		if proven {
			t.Error("proven without a mark")
		}
	})
}
