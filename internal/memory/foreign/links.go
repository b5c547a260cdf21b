package foreign

import (
	"net/url"
	"path"
	"strconv"
	"strings"

	"engramd/internal/platform/pattern"
	"engramd/nips/nipae"
)

type index struct {
	paths map[string]nipae.Slug // whole paths without extension
	names map[string]nipae.Slug // ends of paths and other names; "" is ambiguous
}

// add enters a draft. Of the sections of a file the first is the file.
func (ix *index) add(d *draft, slug nipae.Slug) {
	names := d.names
	if d.part == "" || d.first {
		whole := linked(d.file)
		ix.paths[whole] = slug
		for at, depth := 0, 0; depth < maxDepth; depth++ {
			names = append(names[:len(names):len(names)], whole[at:])
			next := strings.IndexByte(whole[at:], '/')
			if next < 0 {
				break
			}
			at += next + 1
		}
	}
	for _, name := range names {
		name = linked(name)
		if name == "" {
			continue
		}
		if other, there := ix.names[name]; there && other != slug {
			ix.names[name] = ""
			continue
		}
		ix.names[name] = slug
	}
}

// linked is a name as links are compared: without case and extension.
func linked(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	return strings.TrimSuffix(name, ".md")
}

// byName finds what a name means, "" if it is nothing or several things.
func (ix *index) byName(name string) nipae.Slug { return ix.names[linked(name)] }

// find finds what a link in a folder means.
func (ix *index) find(target, dir string) nipae.Slug {
	target = linked(target)
	if target == "" {
		return ""
	}
	if slug := ix.paths[path.Join(dir, target)]; slug != "" {
		return slug
	}
	if slug := ix.paths[strings.TrimPrefix(path.Clean("/"+target), "/")]; slug != "" {
		return slug
	}
	return ix.names[target]
}

func (ix *index) linksIn(d *draft, body string) string {
	if d.bare {
		body = ix.barePaths(body)
	}
	return ix.rewrite(body, path.Dir(d.file))
}

var barePath = pattern.Later(`(^|[\s(<])([\w.-]+(?:/[\w.-]+)*\.md)\b`)

// barePaths turns paths into links, where they mean what is imported as well.
func (ix *index) barePaths(body string) string {
	var b strings.Builder
	fence := fencing{}
	for line := range strings.Lines(body) {
		if !fence.line(line) {
			line = barePath().ReplaceAllStringFunc(line, func(found string) string {
				m := barePath().FindStringSubmatch(found)
				if slug := ix.find(m[2], "."); slug != "" {
					return m[1] + "[[" + string(slug) + "]]"
				}
				return found
			})
		}
		b.WriteString(line)
	}
	return b.String()
}

// Links of wikis, [[target#heading|alias]], and of Markdown.
var (
	wikiLink = pattern.Later(`!?\[\[([^\[\]|#\n]{1,200})(#[^\[\]|\n]{0,200})?(\|[^\[\]\n]{0,200})?\]\]`)
	markLink = pattern.Later(`!?\[([^\[\]\n]{0,300})\]\(<?([^()<>\s]{1,500})>?(?:\s+"[^"\n]{0,300}")?\)`)
)

// rewrite turns links to what is imported as well into [[slug]]. What stands
// beside the target stays as text; other links and code stay as they are.
func (ix *index) rewrite(body, dir string) string {
	if !strings.Contains(body, "[") {
		return body
	}
	var b strings.Builder
	fence := fencing{}
	for line := range strings.Lines(body) {
		if fence.line(line) || !strings.Contains(line, "[") {
			b.WriteString(line)
			continue
		}
		at := 0
		for _, code := range codeSpan().FindAllStringIndex(line, -1) {
			b.WriteString(ix.rewriteLine(line[at:code[0]], dir) + line[code[0]:code[1]])
			at = code[1]
		}
		b.WriteString(ix.rewriteLine(line[at:], dir))
	}
	return b.String()
}

// rewriteLine turns the links of a line without code.
func (ix *index) rewriteLine(line, dir string) string {
	line = wikiLink().ReplaceAllStringFunc(line, func(link string) string {
		m := wikiLink().FindStringSubmatch(link)
		target := strings.TrimSuffix(m[1], `\`) // as the bar is written in a table
		slug := ix.find(target, dir)
		if slug == "" {
			return link
		}
		return named(strings.TrimPrefix(m[3], "|"), target, slug) + fragment(strings.TrimSuffix(m[2], `\`))
	})
	return markLink().ReplaceAllStringFunc(line, func(link string) string {
		m := markLink().FindStringSubmatch(link)
		target, frag, _ := strings.Cut(m[2], "#")
		if strings.Contains(target, ":") {
			return link
		}
		if plain, err := url.PathUnescape(target); err == nil {
			target = plain
		}
		slug := ix.find(target, dir)
		if slug == "" {
			return link
		}
		return named(m[1], target, slug) + fragment(frag)
	})
}

// related lists relations as text, with links to what is imported as well.
func (ix *index) related(all []relation) string {
	if len(all) == 0 {
		return ""
	}
	var text strings.Builder
	text.WriteString("\n## Relations\n\n")
	for _, rel := range all {
		to := shown(rel.to)
		if slug := ix.byName(rel.to); slug != "" {
			to = "[[" + string(slug) + "]]"
		}
		text.WriteString(listItem(shown(rel.kind) + " " + to))
	}
	return text.String()
}

func named(alias, target string, slug nipae.Slug) string {
	link := "[[" + string(slug) + "]]"
	if alias = strings.TrimSpace(alias); alias == "" || linked(alias) == linked(target) {
		return link
	}
	return alias + " " + link
}

func fragment(s string) string {
	if s = strings.TrimLeft(s, "#^"); s == "" {
		return ""
	}
	return " (" + s + ")"
}

func number(n int) string { return strconv.Itoa(n) }
