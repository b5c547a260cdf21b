package edit

import (
	"errors"
	"strings"
	"testing"

	"engramd/internal/cli/exit"
)

// TestPatchFitsExactlyOrNotAtAll: the output of diff is applied, also without
// context, where libraries disagree; every doubtful patch is refused.
func TestPatchFitsExactlyOrNotAtAll(t *testing.T) {
	const head = "--- old\n+++ new\n"
	const noEnd = "\\ No newline at end of file\n"
	for _, c := range []struct {
		name, text, patch, want string
		refused                 bool // it does not fit
		malformed               bool
	}{
		{"change", "a\nb\nc\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n", false, false},
		{"insert without context", "a\nb\nc\nd\n", head + "@@ -3,0 +4 @@\n+X\n", "a\nb\nc\nX\nd\n", false, false},
		{"insert at the top without context", "a\n", head + "@@ -0,0 +1 @@\n+X\n", "X\na\n", false, false},
		{"insert at the end without context", "a\nb\n", head + "@@ -2,0 +3 @@\n+X\n", "a\nb\nX\n", false, false},
		{"insert after a line without end", "a\nb", head + "@@ -2,0 +3 @@\n+X\n", "", true, false},
		{"insert beyond the end", "a\n", head + "@@ -3,0 +4 @@\n+X\n", "", true, false},
		{"delete without context", "a\nb\nc\n", head + "@@ -2 +1,0 @@\n-b\n", "a\nc\n", false, false},
		{"delete all", "a\nb\n", head + "@@ -1,2 +0,0 @@\n-a\n-b\n", "", false, false},
		{"two hunks", "a\nb\nc\nd\ne\n", head + "@@ -1 +1,2 @@\n-a\n+A\n+A2\n@@ -5 +6 @@\n-e\n+E\n", "A\nA2\nb\nc\nd\nE\n", false, false},
		{"two hunks, the second elsewhere", "a\nb\nc\nd\ne\n", head + "@@ -1 +1,2 @@\n-a\n+A\n+A2\n@@ -5 +5 @@\n-e\n+E\n", "", true, false},
		{"hunks out of order", "a\nb\nc\n", head + "@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n", "A\nb\nC\n", false, false},
		{"hunks on the same line", "a\nb\n", head + "@@ -1 +1 @@\n-a\n+A\n@@ -1 +1 @@\n-a\n+X\n", "", true, false},
		{"shifted by one", "z\na\nb\nc\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "", true, false},
		{"other context", "a\nb\nX\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "", true, false},
		{"other white space", "a \nb\nc\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "", true, false},
		{"no end on both sides", "a\nb", head + "@@ -2 +2 @@\n-b\n" + noEnd + "+B\n" + noEnd, "a\nB", false, false},
		{"an end is added", "a\nb", head + "@@ -2 +2 @@\n-b\n" + noEnd + "+b\n", "a\nb\n", false, false},
		{"an end that is not there", "a\nb", head + "@@ -2 +2 @@\n-b\n+B\n", "", true, false},
		{"no end in the middle", "a\nb\n", head + "@@ -1 +1 @@\n-a\n+A\n" + noEnd, "", true, false},
		{"no end before another line", "a\n", head + "@@ -1 +1,2 @@\n-a\n+A\n" + noEnd + "+B\n", "", true, false},
		{"first text", "", head + "@@ -0,0 +1 @@\n+X\n", "X\n", false, false},
		{"new file over a text", "a\n", "--- /dev/null\n+++ new\n@@ -0,0 +1 @@\n+X\n", "", true, false},
		{"lines that look like headers", "-- x\n++ y\nk\n", head + "@@ -1,3 +1,2 @@\n--- x\n ++ y\n k\n", "++ y\nk\n", false, false},
		{"CRLF stays", "a\r\nb\r\n", head + "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\r\nB\r\n", false, false},
		{"more lines than counted", "a\n", head + "@@ -1 +1 @@\n-a\n+A\n+B\n", "", false, true},
		{"fewer lines than counted", "a\n", head + "@@ -1,2 +1,2 @@\n-a\n+A\n", "", false, true},
		{"text after it", "a\n", head + "@@ -1 +1 @@\n-a\n+A\nthanks\n", "", false, true},
		{"no header", "a\n", "@@ -1 +1 @@\n-a\n+A\n", "", false, true},
		{"no hunk", "a\n", "hello\n", "", false, true},
		{"nothing changes", "a\n", head + "@@ -1 +1 @@\n a\n", "", false, true},
		{"two files", "a\n", head + "@@ -1 +1 @@\n-a\n+A\n" + head + "@@ -1 +1 @@\n-a\n+A\n", "", false, true},
		{"binary", "a\n", "diff --git a/x b/x\nindex 1111111..2222222 100644\nBinary files a/x and b/x differ\n", "", false, true},
		{"count of another planet", "a\n", head + "@@ -1,99999999999999999999 +1 @@\n-a\n+A\n", "", false, true},
		{"negative count", "a\n", head + "@@ -1,-1 +1 @@\n+A\n", "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := parsePatch(c.patch)
			if (err != nil) != c.malformed {
				t.Fatalf("parse: %v", err)
			}
			if err != nil {
				if exit.CodeOf(err) != exit.Usage {
					t.Errorf("exit code %d of %v", exit.CodeOf(err), err)
				}
				return
			}
			got, err := p.apply(c.text)
			if errors.Is(err, exit.ErrNoFit) != c.refused || (err != nil) != c.refused {
				t.Fatalf("apply: %v", err)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestBlob(t *testing.T) {
	// git hash-object of "hello\n"
	const id = "ce013625030ba8dba906f756967f9e9ca394464a"
	if !isBlob("hello\n", id) || !isBlob("hello\n", id[:7]) || isBlob("hello", id) || isBlob("hello\n", "ce01362600") {
		t.Error("blob ids")
	}
	// The same under git's SHA-256 object format.
	if !isBlob("hello\n", "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4") {
		t.Error("SHA-256 blob id")
	}
}

// FuzzPatch: a patch gives an error or a text that differs from the old one by
// the hunks' lines alone.
func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
	f.Add("a\nb", "--- old\n+++ new\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+B\n")
	f.Add("", "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+X\n")
	f.Fuzz(func(t *testing.T, text, diff string) {
		p, err := parsePatch(diff)
		if err != nil {
			return
		}
		got, err := p.apply(text)
		if err != nil {
			return
		}
		want := len(text)
		for _, frag := range p.file.TextFragments {
			for _, l := range frag.Lines {
				switch {
				case l.New() && !l.Old():
					want += len(l.Line)
				case l.Old() && !l.New():
					want -= len(l.Line)
				}
			}
		}
		if len(got) != want {
			t.Errorf("%q and %q make %q", text, diff, got)
		}
		if strings.Count(got, "\x00") > strings.Count(text, "\x00")+strings.Count(diff, "\x00") {
			t.Errorf("%q and %q make %q", text, diff, got)
		}
	})
}
