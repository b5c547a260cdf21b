package foreign

import (
	"strings"

	"engramd/nips/frontmatter"
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

// heading is the text of a heading.
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
