package quote

import (
	"strings"
	"testing"
)

// TestClean: what could end a block, begin a title or heading of ours or be the
// markup of a harness is broken wherever it stands; code and prose stay as they are.
func TestClean(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"the end of a reminder":   {"x</system-reminder>y", "x‹/system-reminder>y"},
		"in capitals":             {"</SYSTEM-Reminder>", "‹/SYSTEM-Reminder>"},
		"with blanks":             {"< / system-reminder > </ system-reminder>", "‹ / system-reminder > ‹/ system-reminder>"},
		"over two lines":          {"</\nsystem-reminder>", "‹/\nsystem-reminder>"},
		"without an end":          {"<system-reminder", "‹system-reminder"},
		"with an attribute":       {"<core-memory kind=x>", "‹core-memory kind=x>"},
		"of no width in between":  {"<\u200b/sys\u00adtem-re\u2060minder>", "‹/system-reminder>"},
		"by tags":                 {"<\U000e0041/system-reminder>", "‹/system-reminder>"},
		"of full width":           {"＜／ｓｙｓｔｅｍ－ｒｅｍｉｎｄｅｒ＞ ﹤/b﹥", "‹／ｓｙｓｔｅｍ－ｒｅｍｉｎｄｅｒ＞ ‹/b﹥"},
		"in mathematical letters": {"<𝐬𝐲𝐬tem>", "‹𝐬𝐲𝐬tem>"},
		"with a mark above":       {"<\u0301/system-reminder>", "‹\u0301/system-reminder>"},
		"of a chat":               {"<|im_end|> <｜User｜> <<SYS>>", "‹|im_end|> ‹｜User｜> <‹SYS>>"},
		"a title":                 {"x [Agent Memory — core] y", "x ⟦Agent Memory — core] y"},
		"a title otherwise":       {"[ agent\u00a0 MEMORY] ［Ａgent Memory] [Agent-Memory", "⟦ agent\u00a0 MEMORY] ⟦Ａgent Memory] ⟦Agent-Memory"},
		"a heading":               {"see ## core (told) and ## mem/x", "see ♯♯ core (told) and ♯♯ mem/x"},
		"a heading otherwise":     {"###\u3000Mem/x ＃＃ CORE ##mem/y", "♯♯♯\u3000Mem/x ♯♯ CORE ♯♯mem/y"},
		"with attributes":         {"< system-reminder role=\"x\"> < /system-reminder x> < \\system-reminder\u3000a\n>", "‹ system-reminder role=\"x\"> ‹ /system-reminder x> ‹ \\system-reminder\u3000a\n>"},
		"by another slash":        {"<⁄a> <∕a> <⧸a> <╱a> <⟋ a>", "‹⁄a> ‹∕a> ‹⧸a> ‹╱a> ‹⟋ a>"},
		"behind a mark":           {"<\u0903/system> <\u2800system> <_system> <-system> <:system> <=/system> <\"system\">", "‹\u0903/system> ‹\u2800system> ‹_system> ‹-system> ‹:system> ‹=/system> ‹\"system\">"},
		"a title with signs":      {"[Agent.Memory [Agent—Memory [*Agent Memory*] [\"agent\u2800memory [[Agent/Memory", "⟦Agent.Memory ⟦Agent—Memory ⟦*Agent Memory*] ⟦\"agent\u2800memory [⟦Agent/Memory"},
		"a title in letters":      {"[ A g e n t Memory] [A\u0903gent M e m o r y]", "⟦ A g e n t Memory] ⟦A\u0903gent M e m o r y]"},
		"a heading with signs":    {"## `mem/x` ## **Mem/x** ## [[mem/x]] ##: mem∕x ## \u2800*core*", "♯♯ `mem/x` ♯♯ **Mem/x** ♯♯ [[mem/x]] ♯♯: mem∕x ♯♯ \u2800*core*"},
		"a heading with marks":    {"#\u0301# mem/x #\u0903#\u0301 core", "♯♯ mem/x ♯♯ core"},
		"ends of lines":           {"a\rb\vc\fd\u0085e\u2028f\u2029g\r\nh\x1ei", "a\nb\nc\nd\ne\nf\ng\nh\ni"},
		"bytes":                   {"a\xffb", "a\ufffdb"},
		"what is broken":          {"‹/x> ⟦Agent Memory ♯♯ mem/x", "‹/x> ⟦Agent Memory ♯♯ mem/x"},

		"code":     {"if i < n && n > 3 { x <- 1 << 2 }; psql < dump.sql; cat < /dev/null <= <3 <- y; while a < n-1 && b > 2; r < file; a <> b", "if i < n && n > 3 { x <- 1 << 2 }; psql < dump.sql; cat < /dev/null <= <3 <- y; while a < n-1 && b > 2; r < file; a <> b"},
		"prose":    {"[an agent] [x](y) [[mem/x]] - [ ] # mem ## Setup #core ## corelli ## memory ## `make` #\u0301 mem/x [agent] memory", "[an agent] [x](y) [[mem/x]] - [ ] # mem ## Setup #core ## corelli ## memory ## `make` #\u0301 mem/x [agent] memory"},
		"a letter": {"naïve Ω 日本語 😀", "naïve Ω 日本語 😀"},
	} {
		got := Clean(tt.text)
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if again := Clean(got); again != got {
			t.Errorf("%s: twice is %q", name, again)
		}
		if got != Plain(tt.text) && !Broken(got) {
			t.Errorf("%s: %q is not known as broken", name, got)
		}
	}
}

func TestText(t *testing.T) {
	if got := Text("Ana\n\n## mem/x\r\n", false); got != "| Ana\n|\n| ♯♯ mem/x\n" {
		t.Errorf("%q", got)
	}
	if got := Text("Obey.\u2028Now.", true); got != "> Obey.\n> Now.\n" {
		t.Errorf("%q", got)
	}
	if got := Text("\r\n\n", false); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	if got := Line(" a\n</system-reminder>\u202eb "); got != "a ‹/system-reminder>b" {
		t.Errorf("%q", got)
	}
}

// escapes are pieces of which texts are made that try to leave their place.
var escapes = []string{"</system-reminder>", "<system-reminder>", "[Agent Memory — core]", "## core (told)", "## mem/x (told)\n", "\n", "\r", "\u2028", "\u0085", "\v", "<", "/", "＜", "［", "＃", "#", "\u200b", "\u200d", "\u0301", "\U000e0041", "mem/", "agent", " ", "| ", "> ", "⁄", "\u2800", "\u0903", "_", "*", "`", "[[", "=", " role=x>", "A g e n t", ".Memory", "\xe2", "\x80\xa8"}

// bare takes out what a reader passes over.
var bare = strings.NewReplacer(" ", "", "\u2800", "", "\u0903", "", "\u0301", "", "⁄", "/", "_", "", "*", "", "`", "", "=", "")

// FuzzText: whatever a text is, each of its lines stands behind the mark, nothing that
// leaves is in it, and what was made of it stays as it is.
func FuzzText(f *testing.F) {
	f.Add("", false)
	f.Add("# #Core(", true)
	for i, e := range escapes {
		f.Add(e+escapes[(i*7+3)%len(escapes)]+e, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, text string, external bool) {
		mark := map[bool]string{false: "|", true: ">"}[external]
		got := Text(text, external)
		for l := range strings.Lines(got) {
			if l != mark+"\n" && !strings.HasPrefix(l, mark+" ") || !strings.HasSuffix(l, "\n") {
				t.Errorf("the line %q of %q", l, text)
			}
		}
		if strings.ContainsAny(got, "\r\v\f\u0085\u2028\u2029\u200b\U000e0041") {
			t.Errorf("%q keeps what hides or ends a line", got)
		}
		low := strings.ToLower(bare.Replace(got))
		for _, leaving := range []string{"</s", "<s", "[agentmemory", "##mem/", "##core("} {
			if strings.Contains(low, leaving) {
				t.Errorf("%q has %q", got, leaving)
			}
		}
		clean := Clean(text)
		if again := Clean(clean); again != clean {
			t.Errorf("%q, and then %q", clean, again)
		}
		if line := Line(text); strings.ContainsAny(line, "\n\r") {
			t.Errorf("the line %q", line)
		}
		if max := 3*len(text) + 2; len(clean) > max {
			t.Errorf("%d bytes of %d", len(clean), len(text))
		}
	})
}

// TestBegins: no other character becomes one that begins by normalisation.
func TestBegins(t *testing.T) {
	for r := rune(0); r <= 0x10ffff; r++ {
		if got := folded(r); begins(r) != (got == '<' || got == '[' || got == '#') {
			t.Errorf("%q folds to %q", r, got)
		}
	}
}
