package pages

import (
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/golden"
	"engramd/internal/e2e/relaytest"
)

// shows compares what came out with what a section of a page shows, or writes it into
// the page.
func shows(t *testing.T, name, section string, shown, got []Step) {
	t.Helper()
	same := true
	for i, s := range shown {
		if Same(s.Output, got[i].Output) {
			continue
		}
		same = false
		if !golden.Update() {
			t.Errorf("$ %s\n%s shows:\n%s\nit prints:\n%s\n(make generate writes it)", s.Command, name, s.Output, got[i].Output)
		}
	}
	if same || !golden.Update() {
		return
	}
	page, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join(root, name), strings.Replace(page, section, Fill(section, got), 1))
}
