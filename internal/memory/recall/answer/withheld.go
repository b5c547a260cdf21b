package answer

import (
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// Withheld returns what Tell would tell, were it not for whose it is or how it stands,
// and why: as in Left, and "stale". Its error is a Mistake.
func Withheld(v View, q Query, now time.Time) ([]Left, error) {
	asked, err := q.read(now)
	if err != nil {
		return nil, err
	}
	q.within(v, &asked)
	wide := unfiltered(asked)
	wide.Within = nil
	var all []Left
	for _, f := range v.Index().Told(wide, recall.Recipe(), texts(v)) {
		reason := refused(v, asked, &f.Hit)
		switch {
		case reason == "" && asked.Holds && v.Index().Truth().Stale(f.Slug), reason == "state: "+string(frontmatter.Superseded):
			reason = "stale"
		case reason == "":
			continue
		case reason == "trust: "+frontmatter.External.String():
			reason = "external"
		case reason == "project":
			reason = "other project"
		}
		all = append(all, Left{f.Slug, strings.TrimPrefix(reason, "state: ")})
	}
	return all, nil
}
