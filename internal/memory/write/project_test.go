package write

import (
	"bytes"
	"testing"

	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// TestProjectIsStamped: episodes belong to the project in which they are written,
// unless they say themselves, and nothing moves them later. A slug that was chosen
// for anything else says whose it is.
func TestProjectIsStamped(t *testing.T) {
	const own = "x-org/ana/atlas-1a2b3c4d"
	s := newShelf("mem/journal/old", "---\ntype: episodic\nproject: barge\n---\nIt was caulked.", "mem/journal/bare", "---\ntype: episodic\n---\nIt rained.")
	w := &Writer{Memory: s, Source: "test", Project: own}
	for _, tt := range []struct {
		slug, want string
		draft      Draft
	}{
		{"mem/journal/2026-11", own, Draft{Text: "A line."}},
		{"mem/x/met", own, Draft{Text: "Met.", Fields: Fields{Type: "episodic"}}},
		{"mem/x/said", "barge", Draft{Text: "---\ntype: episodic\nproject: barge\n---\nSaid."}},
		{"mem/x/none", "", Draft{Text: "---\ntype: episodic\nproject: \"\"\n---\nSaid."}},
		{"mem/people/ana", "", Draft{Text: "Prefers tea."}},
		{"mem/projects/barge/met", "", Draft{Text: "Met.", Fields: Fields{Type: "episodic"}}},
		{"mem/journal/old", "barge", Draft{Text: "It was caulked again."}},
		{"mem/journal/old", "barge", Draft{Text: "---\ntype: episodic\n---\nIt was caulked at last."}},
		{"mem/journal/bare", "", Draft{Text: "It rained again."}},
	} {
		if _, err := w.Write(t.Context(), nipae.Slug(tt.slug), tt.draft, memory.SetOptions{}); err != nil {
			t.Fatal(tt.slug, err)
		}
		if got := frontmatter.Parse(s.texts[nipae.Slug(tt.slug)]).Fields().Project; got != tt.want {
			t.Errorf("%s is of %q, want %q:\n%s", tt.slug, got, tt.want, s.texts[nipae.Slug(tt.slug)])
		}
	}
	if _, err := w.Append(t.Context(), "mem/journal/2026-12", "A line.", memory.SetOptions{}); err != nil || frontmatter.Parse(s.texts["mem/journal/2026-12"]).Fields().Project != own {
		t.Errorf("what begins with a line: %v, %s", err, s.texts["mem/journal/2026-12"])
	}
	j := &journal{}
	for _, project := range []string{own, ""} {
		w.Project = project
		if _, err := w.AddNote(t.Context(), j, Note{Text: "Noted."}, nil); err != nil {
			t.Fatal(err)
		}
		if text := j.batches[len(j.batches)-1][0].Text; frontmatter.Parse(text).Fields().Project != project || project == "" && bytes.Contains([]byte(text), []byte("project")) {
			t.Errorf("a note in %q:\n%s", project, text)
		}
	}
}
