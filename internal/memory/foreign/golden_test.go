package foreign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/golden"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// TestGolden reads each source's fixture, made by hand from its documented form,
// and compares all that comes of it with a file.
func TestGolden(t *testing.T) {
	for _, s := range Sources() {
		t.Run(s.Name, func(t *testing.T) {
			place := "home/ana/src/atlas"
			if s.Name == "claude-code" {
				place = "home/ana/.claude"
			}
			got := s.Read(os.DirFS(filepath.Join("testdata", s.Name)), Options{Place: place})
			check(t, s, got)
			golden.Check(t, filepath.Join("testdata", s.Name+".golden"), rendered(got))
		})
	}
}

// check wants what holds for whatever is read.
func check(t *testing.T, s Source, got Result) {
	t.Helper()
	seen := map[nipae.Slug]bool{}
	for _, item := range got.Items {
		if seen[item.Slug] {
			t.Errorf("%s twice", item.Slug)
		}
		seen[item.Slug] = true
		if !strings.HasPrefix(string(item.Slug), s.DefaultPrefix()+"/") {
			t.Errorf("%s is not below %s", item.Slug, s.DefaultPrefix())
		}
		if _, err := nipae.ParseSlug(string(item.Slug)); err != nil {
			t.Errorf("%s: %v", item.Slug, err)
		}
		f := frontmatter.Parse(item.Text).Fields()
		if f.Path != item.From {
			t.Errorf("%s: path %q, from %q", item.Slug, f.Path, item.From)
		}
		stamped, err := frontmatter.Stamped(frontmatter.Parse(item.Text), nil, testStamp)
		if err != nil {
			t.Errorf("%s: %v", item.Slug, err)
		}
		if why := tooLarge(item.Slug, stamped); why != "" {
			t.Errorf("%s: %s", item.Slug, why)
		}
		if f := frontmatter.Parse(stamped).Fields(); f.Trust != frontmatter.External || f.Pin || f.Source != testStamp.Source {
			t.Errorf("%s: trust %s, pin %t, source %q", item.Slug, f.Trust, f.Pin, f.Source)
		}
	}
}

func rendered(got Result) string {
	var b strings.Builder
	for _, item := range got.Items {
		fmt.Fprintf(&b, "=== %s\n%s", item.Slug, item.Text)
	}
	b.WriteString("=== left\n")
	for _, l := range got.Left {
		fmt.Fprintf(&b, "%s: %s\n", l.Where, l.Why)
	}
	return b.String()
}
