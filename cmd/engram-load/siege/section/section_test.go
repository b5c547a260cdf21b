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
		// A page that is generated again keeps the section.
		if got, err := Keep(page, strings.TrimSuffix(path, ".md")); err != nil || got != want {
			t.Errorf("kept: %q, %v, want %q", got, err, want)
		}
	}
	if got, err := Keep(page, t.TempDir()); err != nil || got != page {
		t.Errorf("nothing was kept: %q, %v", got, err)
	}
}

// Figures that are measured elsewhere are in files of their own and in a page
// that is generated again; the repository's page has what the files say.
func TestKeepOthers(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"SIEGE.md": "it held", "RECALL.md": "it found", "MIRROR.md": "it lay there", "CLUSTER.md": "they agreed"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := "# Page\n\n## One\n\ntext\n\n## Under siege\n\nit held\n\n## Recall\n\nit found\n\n## The local copy\n\nit lay there\n\n## Several nodes\n\nthey agreed\n\n## How\n\nso\n"
	if got, err := Keep(page, folder); err != nil || got != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	const docs = "../../../../docs/benchmarks"
	committed, err := os.ReadFile(docs + ".md")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Keep(string(committed), docs); err != nil || got != string(committed) {
		t.Errorf("docs/benchmarks.md does not say what the files in its folder say; %v", err)
	}
}
