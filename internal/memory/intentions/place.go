package intentions

import (
	"strings"

	"engramd/internal/memory/project"
)

// whereProject stands in a unit below its project's slug, in place of the name.
const whereProject = "project"

// Place is where a session works.
type Place struct {
	Project string // as internal/memory/project names it; "" is none
	// Old is the name that earlier versions gave it, if the folder reads what is there;
	// "" otherwise.
	Old string
	// Linked says that the folder is known to be that project's. Otherwise nothing of
	// it comes unasked: who made the folder chose the name.
	Linked bool
}

// ofProject reports whether a slug is of any project.
func ofProject(slug string) bool { return strings.HasPrefix(slug, project.Prefix) }

// Here reports whether an intention may come up at a place: that which it names, and
// that of which it is.
func (i *Intention) Here(at Place) bool {
	if ofProject(i.Slug) {
		return at.Linked && project.Own(i.Slug, at.Project, at.Old) && (i.Where == whereProject || at.named(i.Where))
	}
	return at.named(i.Where)
}

// named reports whether an intention that names a project, or none, may come up.
func (p Place) named(where string) bool {
	return where == "" || p.Linked && (where == p.Project || where == p.Old)
}
