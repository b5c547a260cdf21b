package anthropicfiles

import (
	"strings"
	"testing"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

func TestPathsAndSlugs(t *testing.T) {
	for path, want := range map[string]struct{ slug, kept string }{
		"/memories/core.md":                         {"core", ""},
		"/memories/a/b.md":                          {"mem/a/b", ""},
		"/memories//a///b.md":                       {"mem/a/b", ""},
		"/memories/people/ana-maria_2.md":           {"mem/people/ana-maria_2", ""},
		"/memories/core":                            {"mem/core", ""},
		"/memories/Core.md":                         {"mem/core", "/memories/Core.md"},
		"/memories/a":                               {"mem/a", "/memories/a"},
		"/memories/a-.md":                           {"mem/a-", ""},
		"/memories/customer_service_guidelines.xml": {"mem/customer_service_guidelines-xml", "/memories/customer_service_guidelines.xml"},
		"/memories/Atlas  2026 (old).md":            {"mem/atlas-2026-old", "/memories/Atlas  2026 (old).md"},
		"/memories/.hidden.md":                      {"mem/hidden", "/memories/.hidden.md"},
		"/memories/_x.md":                           {"mem/x", "/memories/_x.md"},
		"/memories/日本語.md":                          {"mem/x-77710aed", "/memories/日本語.md"},
		"/memories/mem/a.md":                        {"mem/mem/a", ""},
		"/memories/50% off.md":                      {"mem/50-off", "/memories/50% off.md"},
	} {
		p, folder, err := Parse(path)
		if err != nil || folder {
			t.Errorf("%s: %v %v", path, folder, err)
			continue
		}
		slug, err := p.Slug()
		if err != nil || string(slug) != want.slug || p.Kept(slug) != want.kept {
			t.Errorf("%s is %s, kept %q, %v", path, slug, p.Kept(slug), err)
		}
	}
	long := "/memories/" + strings.Repeat("long name ", 9) + ".txt"
	one, _, _ := Parse(long)
	other, _, _ := Parse(strings.Replace(long, ".txt", ".TXT", 1))
	a, err1 := one.Slug()
	b, err2 := other.Slug()
	if err1 != nil || err2 != nil || a == b || len(a) > len("mem/")+maxSegment {
		t.Errorf("%s and %s, %v, %v", a, b, err1, err2)
	}
	deep, _, err := Parse("/memories" + strings.Repeat("/segment", 40) + ".md")
	if _, slugErr := deep.Slug(); err != nil || slugErr == nil {
		t.Errorf("a slug of more than 255 bytes: %v, %v", err, slugErr)
	}
}

func TestHostilePathsAreRefused(t *testing.T) {
	for _, path := range []string{
		"", "memories/a.md", "/", "/memory/a.md", "/memoriesx/a.md", "/memories../a.md", "/MEMORIES/a.md",
		"/memories/..", "/memories/../etc/passwd", "/memories/a/../b.md", "/memories/./a.md", "/memories/a/.", "/memories/a/..",
		`/memories/..\..\etc`, `/memories/a\b.md`, "/memories/%2e%2e/x", "/memories/a%2Fb.md", "/memories/%2E./x", "/memories/a%5cb", "/memories/%00", "/memories/%252e%252e/x",
		"/memories/a\x00.md", "/memories/a\nb.md", "/memories/a\r.md", "/memories/a\tb.md", "/memories/\x1b[2J.md", "/memories/a\x7f.md", "/memories/\u0085.md",
		"/memories/\u202egnp.md", "/memories/\u2066a.md", "/memories/a\u200b.md", "/memories/\ufeffa.md", "/memories/a\u2028b.md", "/memories/\U000e0041.md", "/memories/a\xff.md",
		"/memories/a.md/b.md", "/memories/" + strings.Repeat("a", 2000),
	} {
		if p, _, err := Parse(path); err == nil {
			t.Errorf("%q is taken for %s", path, p)
		} else if !visible(err.Error()) {
			t.Errorf("%q: the refusal hides something: %q", path, err)
		}
	}
	for _, path := range []string{"/memories/sys/x.md", "/memories/sys", "/memories/sys/", "/memories/Sys/x.md", "/memories/.sys/x", "/memories/proposals/a.md", "/memories/proposals-answers/a.md"} {
		if p, _, err := Parse(path); err != nil || !p.Reserved() {
			t.Errorf("%s is not reserved: %v", path, err)
		}
	}
	for _, path := range []string{"/memories", "/memories/system/x.md", "/memories/sys.md"} {
		if p, _, err := Parse(path); err != nil || p.Reserved() {
			t.Errorf("%s is reserved: %v", path, err)
		}
	}
}

// What front matter says of a path counts only if it leads to the memory.
func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"text":                                                "/memories/a/b.md",
		"---\npath: /memories/A/b.md\n---\n":                  "/memories/A/b.md",
		"---\npath: /memories/a/b\n---\n":                     "/memories/a/b",
		"---\npath: People/Ana.md\n---\n":                     "/memories/a/b.md",
		"---\npath: /memories/core.md\n---\n":                 "/memories/a/b.md",
		"---\npath: /memories/a/c.md\n---\n":                  "/memories/a/b.md",
		"---\npath: /memories/../a/b.md\n---\n":               "/memories/a/b.md",
		"---\npath: /memories//a/b.md\n---\n":                 "/memories/a/b.md",
		"---\npath: /memories/A/b/\n---\n":                    "/memories/a/b.md",
		"---\npath: \"/memories/A/\\u202eb.md\"\n---\n":       "/memories/a/b.md",
		"---\npath: /memories/a/b\npath: /memories/x\n---\nx": "/memories/a/b",
	} {
		if got := Of("mem/a/b", text); string(got) != want {
			t.Errorf("%q is at %s", text, got)
		}
	}
	if Of(nipae.Core, "---\npath: /memories/x\n---\n") != coreFile || Of("mem/core", "x") != "/memories/core" {
		t.Error("the core and mem/core")
	}
}

// FuzzPath: a path that is taken leads to one slug, and a memory there that says so
// has that path.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/memories/a.md", "/memories/Ä b/c", "/memories/core.md", "/memories/.md", "/memories/---/x", "/memories/'\"/: #", "/memories/[a, b]", "/memories/ a ", "/memories/null"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, folder, err := Parse(text)
		if err != nil || folder {
			return
		}
		slug, err := p.Slug()
		if err != nil {
			return
		}
		if _, err := nipae.ParseSlug(string(slug)); err != nil {
			t.Fatalf("%q has the slug %q: %v", p, slug, err)
		}
		stored := "text"
		if kept := p.Kept(slug); kept != "" {
			if stored, err = frontmatter.Parse("text").Edit(frontmatter.Set("path", frontmatter.String(kept))); err != nil {
				t.Fatal(err)
			}
		}
		if got := Of(slug, stored); got != p {
			t.Errorf("%q, stored as %q at %s, is found at %q", p, stored, slug, got)
		}
	})
}
