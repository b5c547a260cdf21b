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
	// Linked says that the folder is known to be that project's. In another one
	// nothing of any project comes unasked: who made the folder chose the name.
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

// Here reports whether an intention may come up at a place.
func (i *Intention) Here(at Place) bool {
	where := i.Where
	if where == whereProject {
		if where = projectOf(i.Slug); where == "" {
			return false
		}
	}
	if where != "" {
		return at.Linked && where == at.Project
	}
	return at.Linked || projectOf(i.Slug) == ""
}
