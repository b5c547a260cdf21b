//go:build nightly

package secrets

import (
	"strings"
	"testing"
	"time"
)

// hostile are texts that make scanners slow which look at the same bytes again.
func hostile() map[string]string {
	return map[string]string{
		"prefix of a set":  "sk-",
		"begin lines":      "-----BEGIN PRIVATE KEY----- ",
		"begin and lines":  "-----BEGIN PRIVATE KEY-----\naaaa\nbbbb\n",
		"dashes":           "-",
		"headers":          "-----BEGIN PRIVATE KEY-----\na: b\n",
		"web tokens":       "eyJ.",
		"objects":          "eyJaaaaaaaaaaaaaaaaaaaaa.",
		"sendgrid":         "SG.",
		"bunkers":          "bunker://",
		"bots":             "123456789:AA",
		"one word":         "a",
		"points":           "SG.....",
		"hex":              "0123456789abcdef",
		"keys without end": "secret " + strings.Repeat("ab12cd34", 8) + " ",
		"wallet keys":      strings.Repeat("5", 51) + " ",
		"aws":              "awssecret " + strings.Repeat("a", 40) + " ",
		"escapes":          `\n`,
		"newlines":         "\n",
		"azure":            "aB38Q~",
		"broken keys":      "nsec1 q q q q q q q ",
		"one broken key":   "n s e c 1 ",
		"grouped hex":      "ab:",
		"grouped hex, 4":   "secret abcd ",
		"list words":       "legal winner thank year ",
		"one list word":    "zoo ",
		"seeds":            "seed zoo able baby cabin dad eager fabric gadget habit ice jacket label machine naive oak paddle quality rabbit sad table ",
		"runs of words":    phrase24 + " zoo able baby cabin zoo:\n\n",
		"numbered words":   "1. able 2. baby 3. cabin 4. dad ",
		"phrases on lines": "- " + phrase12 + "\n",
		"counted again":    "1. " + phrase12 + " ",
		"backwards":        strings.Repeat("q", 58) + "1cesn ",
		"hex on lines":     "ab:       \n",
		"encoded":          encoded("nothing ") + " ",
		"encoded, long":    "bnNl",
		"addresses":        "a://b:c",
		"addresses, long":  "a://b:c ",
		"passwords":        "password ",
		"passwords, is":    "password is a",
		"quotes":           "password='",
		"tags":             "\U000e0041",
		"flags and tags":   "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e007f\U000e0041",
		"flags, no end":    "\U0001f3f4\U000e0067\U000e0062\U000e0065 ",
	}
}

// TestLinear: ten times the text takes about ten times as long, and not a
// hundred; and one text is bounded. The least of several runs counts, for
// caches are shared with whatever else runs on the machine, and more are made
// while it is too much.
func TestLinear(t *testing.T) {
	const small, attempts = 64 << 10, 12
	for name, piece := range hostile() {
		text := strings.Repeat(piece, 10*small/len(piece))
		few, many := time.Duration(1<<62), time.Duration(1<<62)
		for attempt := 1; ; attempt++ {
			few, many = min(few, took(text[:small])), min(many, took(text))
			if ok := few <= time.Second && (many <= 40*few || many <= 100*time.Millisecond); ok {
				break
			}
			if attempt == attempts {
				t.Errorf("%s: %v for %d bytes, %v for %d", name, few, small, many, len(text))
				break
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, piece := range hostile() {
		f.Add(strings.Repeat(piece, 4))
	}
	for _, text := range []string{"nsec1" + bech58, "secret 0x" + hex64, "secret:\n\n " + hex64, "AccountKey=" + alnum48 + alnum36 + "+/==", base32,
		split(testKey(), "\u200b", 3), encoded(testKey()), "seed: " + notQuite, phrase12, "sk " + split(testHex, ":", 2), "pg://a:b1@c", "password is 'x1y2z3'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, found := range Find(text) {
			if found.Kind == "" || found.Start < at || found.End <= found.Start || found.End > len(text) {
				t.Fatalf("%+v after %d in %d bytes", found, at, len(text))
			}
			at = found.End
			if err := Check(text); err == nil || strings.Contains(err.Error(), text[found.Start:found.End]) && found.End-found.Start > 15 {
				t.Fatalf("%v", err)
			}
		}
		if got, n := Redact(text); n == 0 && got != text {
			t.Fatal("a text without secrets was changed")
		}
	})
}

func BenchmarkFind(b *testing.B) {
	texts := hostile()
	texts["prose"] = "Ana prefers tea. The release needs the commit " + hex64 + "; see [[mem/how-to/release]].\n"
	for name, piece := range texts {
		text := strings.Repeat(piece, 64<<10/len(piece))
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text)
			}
		})
	}
}
