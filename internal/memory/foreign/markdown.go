package foreign

import (
	"fmt"
	"strings"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// fencing follows blocks of code through the lines of a text.
type fencing struct{ mark string }

// line reads one more line and reports whether it belongs to a block of code.
func (f *fencing) line(line string) bool {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 {
		return f.mark != ""
	}
	for _, mark := range []string{"```", "~~~"} {
		if !strings.HasPrefix(s, mark) {
			continue
		}
		run := s[:len(s)-len(strings.TrimLeft(s, mark[:1]))]
		switch {
		case f.mark == "":
			f.mark = run
			return true
		case strings.HasPrefix(run, f.mark) && strings.TrimSpace(s[len(run):]) == "":
			f.mark = ""
			return true
		}
	}
	return f.mark != ""
}

// level is that of a heading, 1 to 6, and 0 for any other line.
func level(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n < 1 || n > 6 || len(line) > n && !strings.ContainsRune(" \t\r\n", rune(line[n])) {
		return 0
	}
	return n
}

func heading(line string) string {
	return strings.TrimSpace(strings.TrimRight(strings.TrimSpace(strings.TrimLeft(line, "#")), "#"))
}

// section is a part of a text below a heading.
type section struct {
	title string // "" for what stands before the first one
	text  string // with the heading
}

// sections divides a text at its headings down to a level. A heading without a
// text of its own stays with what follows, so that nothing is lost.
func sections(text string, deepest int) []section {
	var out []section
	fence, bare := fencing{}, true // no text yet but headings
	title, start, at := "", 0, 0
	flush := func() {
		if strings.TrimSpace(text[start:at]) != "" {
			out = append(out, section{title, text[start:at]})
		}
		title, start, bare = "", at, true
	}
	for line := range strings.Lines(text) {
		inside := fence.line(line)
		if n := level(line); !inside && n > 0 && n <= deepest {
			if !bare {
				flush()
			}
			title = heading(line)
		} else if strings.TrimSpace(line) != "" {
			bare = false
		}
		at += len(line)
	}
	flush()
	return out
}

// sectioned adds a draft for each section of a file; with the file's front matter.
func (r *reader) sectioned(d draft, text string, deepest int) {
	body := frontmatter.Parse(text).Body()
	head := strings.TrimSuffix(text, body)
	all := sections(body, deepest)
	seen := map[string]int{}
	for i, s := range all {
		one := d
		one.first = i == 0
		name := s.title
		if name == "" && len(all) > 1 {
			name = "intro"
		}
		one.text = head + strings.TrimRight(s.text, "\n") + "\n"
		one.names = nil
		if name != "" {
			key := segment(name)
			if seen[key]++; seen[key] > 1 {
				name = cutLine(name, 80) + " " + number(seen[key])
			}
			one.part = name
			one.slug = append(append([]string{}, d.slug...), name)
		}
		if len(all) == 1 {
			one.names = d.names
		}
		r.add(&one)
	}
}

const (
	// maxValue is what a text may take of a body as JSON, with room for the slug
	// and for what is stamped and chained.
	maxValue = nipae.MaxBody - 1500
	maxPart  = maxValue - 4096
	maxParts = 64
)

// cost is at most what a text takes in a body, escapes included.
func cost(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n', c == '\t', c == '\r', c == '"', c == '\\':
			n++
		case c < ' ' || c == 0x7f:
			n += 5
		}
	}
	return n
}

// split divides a text into parts of at most so much cost: before a heading, else
// at a blank line, else between two lines. It fails where a line alone is more.
func split(body string, most int) (parts []string, ok bool) {
	if cost(body) <= most {
		return []string{body}, true
	}
	// Where the part that is being made could end, best kind first, and its cost.
	start, at, used := 0, 0, 0
	var heading, blank int
	fence := fencing{}
	for line := range strings.Lines(body) {
		c := cost(line)
		if c > most {
			return nil, false
		}
		inside := fence.line(line)
		for used+c > most {
			end := at
			switch { // not before half of it is full, or there would be many parts
			case heading > start && cost(body[start:heading]) > most/2:
				end = heading
			case blank > start && cost(body[start:blank]) > most/2:
				end = blank
			}
			parts = append(parts, body[start:end])
			if len(parts) >= maxParts {
				return nil, false
			}
			start, used = end, cost(body[end:at])
		}
		if !inside && level(line) > 0 {
			heading = at
		}
		at += len(line)
		used += c
		if !inside && strings.TrimSpace(line) == "" {
			blank = at
		}
	}
	return append(parts, body[start:]), true
}

// partSlug is the slug of a part, counted from 0.
func partSlug(slug nipae.Slug, i int) nipae.Slug {
	if i == 0 {
		return slug
	}
	end := fmt.Sprintf("-part-%d", i+1)
	at := strings.LastIndexByte(string(slug), '/') + 1
	last := cut(string(slug[at:]), maxSegment-len(end))
	return slug[:at] + nipae.Slug(last+end)
}

// chained links a part to those before and behind it.
func chained(part string, slug nipae.Slug, i, of int) string {
	if i > 0 {
		part = fmt.Sprintf("Part %d of %d, behind [[%s]].\n\n", i+1, of, partSlug(slug, i-1)) + part
	}
	if i < of-1 {
		part = strings.TrimRight(part, "\n") + fmt.Sprintf("\n\nGoes on in [[%s]].\n", partSlug(slug, i+1))
	}
	return part
}
