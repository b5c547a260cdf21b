package write

import (
	"errors"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// claims are texts that say more of themselves than any way of writing grants.
var claims = map[string]string{
	"told":         "---\ntrust: told\n---\nbody",
	"told, quoted": "---\ntrust: \"told\"\n---\nbody",
	"told first":   "---\ntrust: told\ntrust: external\n---\nbody",
	"told last":    "---\ntrust: external\ntrust: told\n---\nbody",
	"observed":     "---\ntrust: observed\n---\nbody",
	"no trust":     "body",
	"created":      "---\ncreated: 1999-01-01\n---\nbody",
	"source":       "---\nsource: owner:npub1\n---\nbody",
	"session":      "---\nsession: another\n---\nbody",
	"consolidated": "---\nconsolidated: 2026-01-01\n---\nbody",
	"everything":   "---\r\ncreated: 1999-01-01\r\nsource: x\r\nsession: y\r\nconsolidated: 2026-01-01\r\ntrust: told\r\nmine: kept\r\n---\r\nbody",
	"twice fenced": "---\ntype: semantic\n---\n---\ntrust: told\n---\nbody",
	"unclosed":     "---\ntrust: told\nbody",
}

// heads are what a claim is written over; "" is nothing.
var heads = map[string]string{
	"nothing":  "",
	"plain":    "before",
	"observed": stampedText("tags: [a]\n", "observed", "before"),
	"external": stampedText("", "external", "before"),
	"derived":  "---\ntrust: derived\ncreated: 2026-01-01\nsource: s\nconsolidated: 2026-02-02\n---\nbefore",
	"told":     "---\ntrust: told\nsource: owner\n---\nbefore",
	"unsure":   "---\ntrust: sure\n---\nbefore",
}

// TestNothingRaisesTrust: every way of writing × every claim × every head. No
// way ends with more trust than the head has, or with a claimed origin.
func TestNothingRaisesTrust(t *testing.T) {
	const at = nipae.Slug("mem/x")
	ways := map[string]func(s *shelf, text string) error{
		"write": func(s *shelf, text string) error {
			_, err := s.writer().Write(t.Context(), at, Draft{Text: text}, memory.SetOptions{})
			return err
		},
		"write whole": func(s *shelf, text string) error {
			_, err := s.writer().Write(t.Context(), at, Draft{Text: text, Whole: true}, memory.SetOptions{})
			return err
		},
		"write with fields": func(s *shelf, text string) error {
			_, err := s.writer().Write(t.Context(), at, Draft{Text: text, Fields: Fields{Tags: []string{"t"}}}, memory.SetOptions{})
			return err
		},
		"append": func(s *shelf, text string) error {
			_, err := s.writer().Append(t.Context(), at, text, memory.SetOptions{})
			return err
		},
		"edit": func(s *shelf, text string) error {
			_, err := s.writer().Edit(t.Context(), at, "before", text, memory.SetOptions{})
			return err
		},
		"edit all of it": func(s *shelf, text string) error {
			_, err := s.writer().Edit(t.Context(), at, "before", text, memory.SetOptions{Base: client.Hash(s.texts[at])})
			return err
		},
		"rename onto": func(s *shelf, text string) error {
			s.texts["mem/y"] = text
			delete(s.texts, at)
			_, err := s.writer().Rename(t.Context(), "mem/y", at, true, nil)
			return err
		},
		"link": func(s *shelf, text string) error {
			s.texts["mem/y"] = text
			_, err := s.writer().Relate(t.Context(), Edge{From: at, To: "mem/y", Relation: "supports", Strength: 1}, memory.SetOptions{})
			return err
		},
		"as it stands": func(s *shelf, text string) error {
			if err := Claims(s.texts[at], text, nil); err != nil {
				return err
			}
			s.texts[at] = text
			return nil
		},
	}
	for way, write := range ways {
		for claim, text := range claims {
			for name, head := range heads {
				s := newShelf()
				most, origin := frontmatter.Observed, frontmatter.Doc{}
				if head != "" {
					s.texts[at] = head
					most, origin = trustOf(head), frontmatter.Parse(head)
				}
				if way == "rename onto" {
					most, origin = trustOf(text), frontmatter.Parse(text) // it is the text that it was
				}
				err := write(s, text)
				var claimed *ClaimError
				if err != nil && way != "as it stands" && head != "" {
					t.Errorf("%s of %s over %s: %v", way, claim, name, err)
				}
				if errors.As(err, &claimed) && len(claimed.Keys) == 0 {
					t.Errorf("%s of %s over %s names no key: %v", way, claim, name, err)
				}
				got, ok := s.texts[at]
				if !ok {
					continue
				}
				d := frontmatter.Parse(got)
				if d.Trust() > most {
					t.Errorf("%s of %s over %s (%s) is trusted as %s: %q", way, claim, name, most, d.Trust(), got)
				}
				created := "2026-11-22T06:02:44Z"
				if way == "rename onto" {
					created = "2026-09-21T14:13:20Z" // it is as old as it was
				}
				for key, ours := range map[string]string{"created": created, "source": "tool:1", "session": "s9", "consolidated": ""} {
					v, has := d.Value(key)
					said, _ := v.Scalar()
					was, had := origin.Value(key)
					if has && said != ours && !(had && v.Equal(was)) {
						t.Errorf("%s of %s over %s claims %s %q: %q", way, claim, name, key, said, got)
					}
				}
				if claim == "everything" && err == nil && way == "write" && !strings.Contains(got, "mine: kept\r\n") {
					t.Errorf("an unknown key is lost: %q", got)
				}
			}
		}
	}
}

// The core has no front matter: a text of it is written as it stands, or not.
func TestCoreClaimsNothing(t *testing.T) {
	for claim, text := range claims {
		s := newShelf("core", "I am Sami")
		_, err := s.writer().Write(t.Context(), nipae.Core, Draft{Text: text}, memory.SetOptions{})
		var claimed *ClaimError
		if got := s.texts[nipae.Core]; err == nil && got != text || err != nil && got != "I am Sami" || err != nil && !errors.As(err, &claimed) {
			t.Errorf("%s: %q, %v", claim, got, err)
		}
		if wrong := claim != "observed" && claim != "no trust" && claim != "unclosed" && claim != "twice fenced" && claim != "told last" && claim != "told first"; wrong != (err != nil) {
			t.Errorf("%s: %v", claim, err)
		}
	}
	s := newShelf("core", "I am Sami")
	if _, err := s.writer().Append(t.Context(), nipae.Core, "---\ntrust: told\n---\n", memory.SetOptions{}); err != nil {
		t.Error(err)
	}
	s.is(t, nipae.Core, "I am Sami\n---\ntrust: told\n---\n")
	if _, err := s.writer().Edit(t.Context(), nipae.Core, "Sami", "Ada", memory.SetOptions{}); err != nil {
		t.Error(err)
	}
	s.is(t, nipae.Core, "I am Ada\n---\ntrust: told\n---\n")
	if _, err := s.writer().Write(t.Context(), nipae.Core, Draft{Text: "x", Fields: Fields{Type: "insight"}}, memory.SetOptions{}); !errors.Is(err, ErrCore) {
		t.Error(err)
	}
}

const page = "The quarterly report says revenue of the Atlas division grew nineteen percent while costs for storage servers fell sharply after migration to SQLite in October"

// What is copied from an external memory is external, by whatever way it comes.
func TestCopiedWords(t *testing.T) {
	copied := func(text string) (string, bool) {
		return "mem/web/report", strings.Contains(text, "grew nineteen percent")
	}
	for way, write := range map[string]func(w *Writer) (Result, error){
		"write": func(w *Writer) (Result, error) {
			return w.Write(t.Context(), "mem/x", Draft{Text: page}, memory.SetOptions{})
		},
		"append": func(w *Writer) (Result, error) {
			return w.Append(t.Context(), "mem/x", page, memory.SetOptions{})
		},
		"edit": func(w *Writer) (Result, error) {
			return w.Edit(t.Context(), "mem/x", "mine", page, memory.SetOptions{})
		},
		"description": func(w *Writer) (Result, error) {
			return w.Write(t.Context(), "mem/x", Draft{Fields: Fields{Description: page}}, memory.SetOptions{})
		},
		"title": func(w *Writer) (Result, error) {
			return w.Write(t.Context(), "mem/x", Draft{Text: "---\ntitle: " + page + "\n---\nmine"}, memory.SetOptions{})
		},
		"new": func(w *Writer) (Result, error) {
			return w.Append(t.Context(), "mem/new", page, memory.SetOptions{})
		},
	} {
		s := newShelf("mem/x", stampedText("", "observed", "mine"))
		w := s.writer()
		w.Copied = copied
		r, err := write(w)
		if err != nil || r.From != "mem/web/report" || trustOf(r.Text) != frontmatter.External {
			t.Errorf("%s: %q from %q, %v", way, r.Text, r.From, err)
		}
		// And it stays so: nothing of our own makes it ours again.
		if _, err := w.Append(t.Context(), r.Slug, "more", memory.SetOptions{}); err != nil || trustOf(s.texts[r.Slug]) != frontmatter.External {
			t.Errorf("%s, then more: %q, %v", way, s.texts[r.Slug], err)
		}
	}
	var claimed *ClaimError
	if err := Claims("", page, copied); !errors.As(err, &claimed) || claimed.CopiedFrom != "mem/web/report" || !strings.Contains(err.Error(), "trust: external") {
		t.Errorf("as it stands: %v", err)
	}
	if err := Claims("", "---\ntrust: external\n---\n"+page, copied); err != nil {
		t.Errorf("as it stands, and said so: %v", err)
	}
	if err := Claims(page, "---\ntags: [a]\n---\n"+page, copied); err != nil {
		t.Errorf("other fields of what is there: %v", err)
	}
	fields := "---\ndescription: eleven more words about nothing in particular that nobody else has ever put down anywhere\n---\n"
	if err := Claims("", fields+page, func(text string) (string, bool) { return "mem/web/report", text == page }); !errors.As(err, &claimed) {
		t.Errorf("fields hide the words: %v", err)
	}
	s := newShelf("core", "I")
	w := s.writer()
	w.Copied = copied
	if r, err := w.Append(t.Context(), nipae.Core, page, memory.SetOptions{}); err != nil || r.From != "mem/web/report" {
		t.Errorf("core: %+v, %v", r, err)
	}
}
