package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// silent counts what fails.
type silent struct {
	testing.TB
	failed int
}

func (s *silent) Helper()               {}
func (s *silent) Name() string          { return "TestGolden" }
func (s *silent) Error(...any)          { s.failed++ }
func (s *silent) Errorf(string, ...any) { s.failed++ }

func TestStaleFilesAreFoundAndWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tools")
	s := &silent{TB: t}
	texts := map[string]string{"a": "1 <2> 3", "b": "b"}
	run := func() (failed int) {
		s.failed = 0
		Folder(s, dir, texts)
		if before, after := Part(s, filepath.Join(dir, "a"), "<", ">", "2"); before != "1 " || after != " 3" {
			t.Errorf("%q, %q", before, after)
		}
		return s.failed
	}
	t.Setenv("ENGRAMD_GENERATE", "1")
	if run() != 0 {
		t.Error("files are not written")
	}
	for name, text := range map[string]string{"a": "1 <3> 3", "c": "more"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ENGRAMD_GENERATE", "")
	if n := run(); n != 3 { // a twice, and c
		t.Errorf("%d files are stale, want 3", n)
	}
	t.Setenv("ENGRAMD_GENERATE", "1")
	run()
	t.Setenv("ENGRAMD_GENERATE", "")
	if run() != 0 {
		t.Error("what is generated is stale")
	}
}
