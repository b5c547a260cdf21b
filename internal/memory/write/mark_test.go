package write

import (
	"errors"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// TestMarkAndBack: a mark changes its own line, and taking it away gives every
// byte back.
func TestMarkAndBack(t *testing.T) {
	for _, text := range []string{"words", "---\ntags: [a,  b]\nodd: {x:  1}\ntrust: told\n---\nwords\n", "---\r\nsource: other\n---\nx"} {
		for there, back := range map[Mark]Mark{Pin: Unpin, Archive: Unarchive} {
			s := newShelf("mem/a", text)
			r, err := s.writer().Mark(t.Context(), "mem/a", there, memory.SetOptions{})
			marked := s.texts["mem/a"]
			if err != nil || r.Outcome != Replaced || marked == text || strings.Contains(marked, "created:") || !strings.HasSuffix(marked, Body("mem/a", text)) {
				t.Errorf("%s of %q: %q, %v", there, text, marked, err)
			}
			if r, err := s.writer().Mark(t.Context(), "mem/a", there, memory.SetOptions{}); err != nil || r.Outcome != Unchanged {
				t.Errorf("%s again: %v, %v", there, r.Outcome, err)
			}
			if _, err := s.writer().Mark(t.Context(), "mem/a", back, memory.SetOptions{}); err != nil || s.texts["mem/a"] != text {
				t.Errorf("%s of %q: %q, %v", back, text, s.texts["mem/a"], err)
			}
		}
	}
}

func TestWhatIsNotMarked(t *testing.T) {
	head := func(line string) string { return "---\n" + line + "\n---\nwords" }
	for name, tt := range map[string]struct {
		slug nipae.Slug
		text string
		mark Mark
		says string
	}{
		"core":         {"core", "x", Archive, "always shown"},
		"pinned":       {"mem/a", head("pin: true"), Archive, "unpinned"},
		"narrative":    {"mem/a", head("type: narrative"), Archive, "narrative"},
		"intention":    {"mem/a", head("type: prospective"), Archive, "not done"},
		"superseded":   {"mem/a", head("state: superseded"), Archive, "superseded already"},
		"not archived": {"mem/a", head("state: superseded"), Unarchive, "not archived"},
		"no mark":      {"mem/a", "x", "burn", "no mark"},
	} {
		s := newShelf(string(tt.slug), tt.text)
		if _, err := s.writer().Mark(t.Context(), tt.slug, tt.mark, memory.SetOptions{}); !errors.Is(err, ErrField) || !strings.Contains(err.Error(), tt.says) || s.texts[tt.slug] != tt.text {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := newShelf()
	if _, err := s.writer().Mark(t.Context(), "mem/sys/x", Pin, memory.SetOptions{}); !errors.Is(err, ErrReserved) {
		t.Error(err)
	}
	if _, err := s.writer().Mark(t.Context(), "mem/a", Pin, memory.SetOptions{}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	s = newShelf("mem/a", "x")
	var conflict *client.ConflictError
	if _, err := s.writer().Mark(t.Context(), "mem/a", Pin, memory.SetOptions{Base: strings.Repeat("0", 64)}); !errors.As(err, &conflict) {
		t.Error(err)
	}
}
