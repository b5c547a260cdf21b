package foreign

import (
	"path"
	"regexp"
	"strings"

	"engramd/nips/frontmatter"
)

// readObsidian reads the notes of a vault. Folders that begin with a dot are
// Obsidian's and git's own; what is no note is an attachment, and left.
func readObsidian(r *reader) {
	r.files(func(dir string) bool { return !strings.HasPrefix(path.Base(dir), ".") }, func(name string) {
		if !isNote(name) {
			r.leaveFile(name)
			return
		}
		text, ok := r.text(name)
		if !ok {
			return
		}
		doc := frontmatter.Parse(text)
		d := &draft{file: name, slug: segmentsOf(name), text: text, tags: inlineTags(doc.Body())}
		for _, key := range []string{"aliases", "alias"} {
			if v, ok := doc.Value(key); ok {
				d.names = append(d.names, v.Items()...)
			}
		}
		if v, ok := doc.Value("tag"); ok { // the older name
			d.tags = append(d.tags, v.Items()...)
		}
		d.daily(stem(name))
		if f := doc.Fields(); f.Title == "" && f.Description == "" && firstLevel(doc.Body()) != 1 {
			d.fields = append(d.fields, frontmatter.Field{Key: "title", Value: frontmatter.String(shown(stem(name)))})
		}
		r.add(d)
	})
}

var dayName = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})(?:$|[-_ ])`)

// daily makes a note with a day in its name an episode of that day.
func (d *draft) daily(name string) {
	if m := dayName.FindStringSubmatch(name); m != nil {
		if _, ok := frontmatter.ParseMoment(m[1]); ok {
			d.kind, d.when = string(frontmatter.Episodic), m[1]
		}
	}
}

// firstLevel is that of the heading that a text begins with, 0 without one.
func firstLevel(body string) int {
	first, _, _ := strings.Cut(strings.TrimLeft(body, "\r\n"), "\n")
	return level(first)
}

var hashTag = regexp.MustCompile(`(?:^|\s)#([\pL_][\pL\pN_/-]{0,63})`)

// inlineTags are the #tags in a text, outside of code.
func inlineTags(body string) []string {
	var out []string
	fence := fencing{}
	for line := range strings.Lines(body) {
		if fence.line(line) {
			continue
		}
		for _, m := range hashTag.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, ""), -1) {
			out = append(out, m[1])
		}
	}
	return out
}
