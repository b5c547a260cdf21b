package anthropicfiles

import (
	"fmt"
	"strings"
	"testing"
)

func TestSize(t *testing.T) {
	for n, want := range map[int]string{0: "0B", 1: "1B", 47: "47B", 1023: "1023B", 1024: "1K", 1536: "1.5K", 1537: "1.5K", 4096: "4K", 65535: "64.0K", 1 << 20: "1M", 3 << 29: "1.5G", 1 << 40: "1024G"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}

// Lines end as they did: only what is inserted is new.
func TestInsertKeepsEveryByte(t *testing.T) {
	for _, body := range []string{"a\r\nb\r\n", "a\x0cb\n", "a\u2028b\n", "a\x85b\n", "\n", "\n\n"} {
		got, err := Insert(body, 1, "new")
		if err != nil || strings.Replace(got, "new\n", "", 1) != body {
			t.Errorf("%q became %q, %v", body, got, err)
		}
	}
}

func TestAnswersAreBounded(t *testing.T) {
	_, _, err := Replace("/memories/a.md", strings.Repeat("a", 60_000), "a", "b")
	if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "1, …. Please") {
		t.Errorf("%.300v", err)
	}
	var files []File
	for i := range 20_000 {
		files = append(files, File{Path: Path(fmt.Sprintf("/memories/f%05d/note.md", i)), Size: 1})
	}
	list := List(Root, Within(files, Root))
	if lines := strings.Count(list, "\n"); lines != MaxListed+2 || !strings.HasSuffix(list, "\n(39000 more are not shown. View a directory by itself.)") {
		t.Errorf("%d lines: …%s", lines, list[len(list)-100:])
	}
}

func TestListMarksWhatIsExternal(t *testing.T) {
	got := List("/memories/a", Within([]File{{"/memories/a/z.md", 3, true}, {"/memories/b.md", 1, false}, {"/memories/a/b/c.md", 2, false}}, "/memories/a"))
	want := "Here're the files and directories up to 2 levels deep in /memories/a, excluding hidden items:\n5B\t/memories/a\n2B\t/memories/a/b/\n2B\t/memories/a/b/c.md\n3B\t/memories/a/z.md\t(external)"
	if got != want {
		t.Errorf("%s", got)
	}
}
