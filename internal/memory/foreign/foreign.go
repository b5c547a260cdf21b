package foreign

import (
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

// ours are the keys of front matter by which engramd's tools go. What another
// tool, or who wrote the text, put there means something else: it is kept under
// another name. trust is none of them, because a text may claim less than it is
// given and never more (frontmatter.Stamped).
var ours = append([]string{"who", "session", "created", "source", "salience", "decay", "emotion", "state", "path", "pin", "consolidated",
	"due", "every", "until", "snoozed", "trigger", "where", "action", "propose", "slug", "base", "version", "vouch", "why", keyMark}, frontmatter.Relations...)

// foreign returns a text whose front matter has no key of ours: "source" is
// "imported_source" then. Every other byte stays. A text without front matter is
// returned as it is.
func foreign(text string) string {
	doc := frontmatter.Parse(text)
	if !slices.ContainsFunc(doc.Keys(), func(key string) bool { return slices.Contains(ours, key) }) {
		return text
	}
	head := strings.TrimSuffix(text, doc.Body())
	var b strings.Builder
	for line := range strings.Lines(head) {
		if key, _, ok := strings.Cut(line, ":"); ok && slices.Contains(ours, key) {
			b.WriteString("imported_")
		}
		b.WriteString(line)
	}
	return b.String() + doc.Body()
}

// folded returns the text of a value that stands in the lines below its key
// (YAML's > and |), on one line; "" for any other value.
func folded(doc frontmatter.Doc, key string) string {
	v, ok := doc.Value(key)
	mark, scalar := v.Scalar()
	if !ok || !scalar || !slices.Contains([]string{">", "|", ">-", "|-", ">+", "|+"}, mark) {
		return ""
	}
	var words []string
	within := false
	for line := range strings.Lines(strings.TrimSuffix(doc.Text(), doc.Body())) {
		switch {
		case strings.HasPrefix(line, key+":"):
			within = true
		case within && line[0] != ' ' && line[0] != '\t' && strings.TrimSpace(line) != "":
			return strings.Join(words, " ")
		case within:
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}
