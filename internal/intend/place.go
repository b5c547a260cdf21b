package intend

import "strings"

const (
	// whereProject stands in a unit below its project's slug, in place of the name.
	whereProject   = "project"
	projectsPrefix = "mem/projects/"
)

// Place is where a session works.
type Place struct {
	Project string // as internal/project names it; "" is none
	// Linked says that the folder is known to be that project's. Otherwise nothing of
	// it comes unasked: who made the folder chose the name.
	Linked bool
}

// projectOf returns the project of which a slug is, "" for none.
func projectOf(slug string) string {
	rest, _ := strings.CutPrefix(slug, projectsPrefix)
	if rest == slug {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// Here reports whether an intention may come up at a place: that which it names, and
// that of which it is.
func (i *Intention) Here(at Place) bool {
	of, where := projectOf(i.Slug), i.Where
	if where == whereProject {
		if where = of; where == "" {
			return false
		}
	}
	return (where == "" || at.has(where)) && (of == "" || at.has(of))
}

// has reports whether a place is known to be a project's.
func (p Place) has(project string) bool { return p.Linked && p.Project == project }
