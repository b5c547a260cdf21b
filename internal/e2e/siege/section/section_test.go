package section

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = "# Page\n\n## One\n\ntext\n\n## How\n\nso\n"

func TestPut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := Put(path, "first\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("a page was made of a siege alone")
	}
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"second\n", "third\n"} {
		if err := Put(path, text); err != nil {
			t.Fatal(err)
		}
		want := "# Page\n\n## One\n\ntext\n\n## Under siege\n\n" + text + "\n## How\n\nso\n"
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the page is %q, %v, want %q", got, err, want)
		}
		// A page that is made anew is the same with what was kept.
		if got, err := Keep(page, strings.TrimSuffix(path, ".md")); err != nil || got != want {
			t.Errorf("kept: %q, %v, want %q", got, err, want)
		}
	}
	if got, err := Keep(page, t.TempDir()); err != nil || got != page {
		t.Errorf("nothing was kept: %q, %v", got, err)
	}
}
