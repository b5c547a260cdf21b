package frontmatter

import (
	"regexp"
	"strings"
	"testing"
)

var digitsOf = regexp.MustCompile(`⟨U\+[0-9A-F]{4,}⟩`)

func TestShown(t *testing.T) {
	if got, want := Shown("a\U000e0049\u200bb\x1b[2J\r\n\t"+flags[0]), "a⟨U+E0049⟩⟨U+200B⟩b⟨U+001B⟩[2J⟨U+000D⟩\n\t"+flags[0]; got != want {
		t.Errorf("%+q, want %+q", got, want)
	}
}

func TestVisible(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"plain":                    {"Ana counts\n\tboats.", "Ana counts\n\tboats."},
		"tags":                     {"a\U000e0049\U000e0067b\U000e007f", "ab"},
		"directions":               {"a\u202eb\u2066c\u200f", "abc"},
		"fillers":                  {"a\u115fb\u1160c\u3164d\uffa0e", "abcde"},
		"other zero-width":         {"a\u200bb\u2060c\ufeffd\u00ade\u034ff\u180eg\u17b4h\u2065i", "abcdefghi"},
		"selectors alone":          {"a\ufe0fb\ufe00c\U000e0100d", "abcd"},
		"controls":                 {"a\x00b\x1b[2Jc", "ab[2Jc"},
		"Persian":                  {"می\u200cخواهم", "می\u200cخواهم"},
		"Sinhala":                  {"ශ්\u200dරී", "ශ්\u200dරී"},
		"joiners elsewhere":        {"a\u200db\u200cc\u200d", "abc"},
		"joiners at an end":        {"می\u200c\u200cx \u200dم", "میx م"},
		"a heart":                  {"❤\ufe0f and ❤\ufe0e", "❤\ufe0f and ❤\ufe0e"},
		"selectors in a row":       {"❤\ufe0f\ufe0f\ufe0e", "❤\ufe0f"},
		"a family":                 {"👩\u200d👩\u200d👧!", "👩\u200d👩\u200d👧!"},
		"a tone":                   {"🧑🏽\u200d🚒 🏳\ufe0f\u200d🌈", "🧑🏽\u200d🚒 🏳\ufe0f\u200d🌈"},
		"a joiner behind an emoji": {"👩\u200d\u200d x👩\u200dx", "👩 x👩x"},
		"a key":                    {"1\ufe0f\u20e3 2\ufe0f", "1\ufe0f\u20e3 2"},
		"Scotland":                 {flags[1] + "!", flags[1] + "!"},
		"a flag of other tags":     {"🏴\U000e0075\U000e0073\U000e007f", "🏴"},
		"a flag without an end":    {strings.TrimSuffix(flags[2], "\U000e007f") + "x", "🏴x"},
		"parts of a line end":      {"\xe2\u200b\x80\xa8", "\ufffd\ufffd\ufffd"},
	} {
		if got := Visible(tt.text); got != tt.want {
			t.Errorf("%s: %+q, want %+q", name, got, tt.want)
		} else if Visible(got) != got {
			t.Errorf("%s: twice is %+q", name, Visible(got))
		}
		shown, left := Shown(tt.text), digitsOf.ReplaceAllString(Shown(tt.text), "")
		if left != tt.want || Visible(shown) != shown || (shown == tt.text) != (tt.text == tt.want) {
			t.Errorf("%s: shown as %+q", name, shown)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range append(flags, "می\u200cخواهم", "👩\u200d👧", "1\ufe0f\u20e3", "\u202ex\U000e0041", "\xe2\u200b\x80\xa8") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Visible(s)
		if again := Visible(got); again != got {
			t.Errorf("%+q is %+q, and then %+q", s, got, again)
		}
		if shown := Shown(s); Visible(shown) != shown || len(shown) > 14*len(s) {
			t.Errorf("%+q is shown as %+q", s, shown)
		}
		if len(got) > 3*len(s) {
			t.Errorf("%d bytes of %d", len(got), len(s))
		}
	})
}
