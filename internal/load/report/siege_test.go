package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPutSiege(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := PutSiege(path, "first\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("a page was made of a siege alone")
	}
	page := "# Page\n\n## One\n\ntext\n\n## How\n\nso\n"
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"second\n", "third\n"} {
		if err := PutSiege(path, text); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := "# Page\n\n## One\n\ntext\n\n## Under siege\n\n" + text + "\n## How\n\nso\n"
		if string(got) != want {
			t.Errorf("the page is %q, want %q", got, want)
		}
	}
	if text, err := readSiege(strings.TrimSuffix(path, ".md")); err != nil || text != "third\n" {
		t.Errorf("kept: %q, %v", text, err)
	}
}
