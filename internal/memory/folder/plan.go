package folder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"engramd/nips/nipae"
)

// Mode says which sides may be written.
type Mode int

// The modes.
const (
	Export Mode = iota // the folder
	Import             // the memory
	Sync               // both
)

// File is a text in the folder.
type File struct {
	Path string // below the folder, with "/"
	Hash string // of the text, SHA-256 in hex
	Size int
}

// Unit is what the memory has at a slug.
type Unit struct {
	Slug    nipae.Slug
	Text    string
	Hash    string // of the text; "" for a tombstone
	ID      string // of the event
	Removed bool   // there is a tombstone
}

// What is to be done, or why nothing is.
type What string

// The decisions.
const (
	ToFolder     What = "to-folder"     // the file is written
	ToMemory     What = "to-memory"     // the memory is written
	RemoveFile   What = "remove-file"   // the file is deleted
	RemoveMemory What = "remove-memory" // the memory is removed
	Conflict     What = "conflict"      // both were changed: the memory's text is put beside the file
	Left         What = "left"          // nothing is done, and Why says why
	Same         What = "same"          // both sides say the same
	Forget       What = "forget"        // it is gone from both sides
	Refused      What = "refused"       // it was to be done and could not be
)

// Step is what becomes of one slug.
type Step struct {
	Slug nipae.Slug `json:"slug"`
	Path string     `json:"path"`
	What What       `json:"what"`
	Why  string     `json:"why,omitempty"`
	New  bool       `json:"new,omitempty"` // nothing is there yet

	file  *File
	unit  *Unit
	entry Entry
	was   string // the path in the state; "" if it has none
}

// How says what a plan may do.
type How struct {
	Mode   Mode
	Delete bool // what was removed on one side may go from the other
	Whole  bool // every relay said what it has
	// Skip leaves a slug out.
	Skip func(nipae.Slug) bool
}

// Sides are what is compared.
type Sides struct {
	Tree  *Listing
	Units []Unit
	State *State
}

// CollisionError is two files of one slug.
type CollisionError struct {
	Slug nipae.Slug
	A, B string
}

// Error names both.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("%q and %q are both %s: rename one of them", e.A, e.B, e.Slug)
}

// Plan decides what becomes of each slug, by slug. The errors are
// *CollisionError, and of names of which no slug can be made.
func Plan(how How, s Sides) ([]Step, error) {
	known := map[nipae.Slug]string{} // paths of the state
	for path, e := range s.State.Files {
		known[e.Slug] = path
	}
	steps := map[nipae.Slug]*Step{}
	at := func(slug nipae.Slug) *Step {
		if steps[slug] == nil {
			steps[slug] = &Step{Slug: slug, Path: cmp.Or(known[slug], PathOf(slug))}
			if p := known[slug]; p != "" {
				steps[slug].entry, steps[slug].was = s.State.Files[p], p
			}
		}
		return steps[slug]
	}
	for i := range s.Tree.Files {
		f := &s.Tree.Files[i]
		slug := s.State.Files[f.Path].Slug
		if slug == "" {
			var err error
			if slug, err = SlugOf(f.Path); err != nil {
				return nil, err
			}
		}
		st := at(slug)
		if st.file != nil {
			return nil, &CollisionError{Slug: slug, A: st.file.Path, B: f.Path}
		}
		st.file, st.Path = f, f.Path
	}
	for i := range s.Units {
		at(s.Units[i].Slug).unit = &s.Units[i]
	}
	for slug := range known {
		at(slug)
	}
	var out []Step
	for slug, st := range steps {
		if how.Skip != nil && how.Skip(slug) {
			if st.file != nil {
				out = append(out, Step{Slug: slug, Path: st.Path, What: Left, Why: "the slug is reserved for programs"})
			}
			continue
		}
		if st.file == nil && s.Tree.blocked(st.Path) {
			continue // something is there that is left alone, and said to be
		}
		if st.decide(how, s.Tree); st.What != "" {
			out = append(out, *st)
		}
	}
	slices.SortFunc(out, func(a, b Step) int { return strings.Compare(string(a.Slug), string(b.Slug)) })
	return out, nil
}

// Alike reports whether every text in the folder is the memory's at its slug, and that
// there is one.
func Alike(steps []Step) bool {
	texts := 0
	for i := range steps {
		if s := &steps[i]; s.file != nil || s.What == Left {
			if texts++; s.What != Same {
				return false
			}
		}
	}
	return texts > 0
}

// decide decides one slug by its three sides.
func (s *Step) decide(how How, tree *Listing) {
	file, mem := s.file != nil, s.unit != nil && !s.unit.Removed
	switch {
	case file && mem && s.file.Hash == s.unit.Hash:
		s.What = Same
	case file && mem:
		s.both(how, tree)
	case file:
		s.onlyFile(how)
	case mem:
		s.onlyMemory(how)
	case s.entry.Slug != "":
		s.What = Forget
	}
}

func (s *Step) left(why string) { s.What, s.Why = Left, why }

// toMemory writes the memory, if the mode does.
func (s *Step) toMemory(how How, isNew bool) {
	switch {
	case how.Mode == Export:
		s.left("changed in the folder; import or sync writes it")
	case isNew && !how.Whole:
		s.left("not every relay answered: whether the memory has it is not known")
	default:
		s.What, s.New = ToMemory, isNew
	}
}

// toFolder writes the file, if the mode does.
func (s *Step) toFolder(how How, isNew bool) {
	if how.Mode == Import {
		s.left("changed in the memory; export or sync writes it")
		return
	}
	s.What, s.New = ToFolder, isNew
}

// both decides where both sides have a text, and not the same.
func (s *Step) both(how How, tree *Listing) {
	e := s.entry
	beside := conflictPath(s.Path)
	if e.Conflict != "" && tree.Conflicts[beside] == "" && !tree.blocked(beside) {
		// Somebody has looked at the memory's text and taken it away.
		switch e.Conflict {
		case s.unit.Hash:
			s.toMemory(how, false)
		case s.file.Hash:
			s.toFolder(how, false)
		default:
			s.What, s.Why = Conflict, "the memory was changed again"
		}
		return
	}
	if e.Conflict != "" {
		s.What, s.Why = Conflict, "still there: "+beside
		return
	}
	fileChanged := s.file.Hash != e.Hash && s.file.Hash != e.ToFolder
	memChanged := s.unit.Hash != e.Hash && s.unit.Hash != e.ToMemory
	switch {
	case fileChanged && memChanged:
		s.What, s.Why = Conflict, "changed in the folder and in the memory"
		if e.Hash == "" {
			s.Why = "the folder and the memory have different texts, and never had the same"
		}
	case fileChanged, !memChanged && s.unit.Hash == e.Hash:
		s.toMemory(how, false)
	case memChanged, s.file.Hash == e.Hash:
		s.toFolder(how, false)
	default: // two unfinished runs, each of one direction
		s.What, s.Why = Conflict, "changed in the folder and in the memory"
	}
}

// onlyFile decides where the memory has no text.
func (s *Step) onlyFile(how How) {
	e := s.entry
	switch {
	case e.Hash == "" && e.ToFolder == "":
		s.toMemory(how, true)
	case s.unit == nil && !how.Whole:
		s.left("no relay that answered shows it, and it is not known to be removed: engramctl doctor says more")
	case s.unit == nil:
		s.left("the memory has neither the text nor a removal of it: mem set writes it again")
	case s.file.Hash != e.Hash && s.file.Hash != e.ToFolder:
		s.toMemory(how, true)
		if s.What == ToMemory {
			s.Why = "removed in the memory, and changed in the folder since"
		}
	case how.Mode == Import:
		s.left("removed in the memory; export or sync with --delete deletes the file")
	case !how.Delete:
		s.left("removed in the memory; --delete deletes the file")
	case !how.Whole:
		s.left("removed in the memory, but not every relay answered: the file stays")
	default:
		s.What = RemoveFile
	}
}

// onlyMemory decides where the folder has no file.
func (s *Step) onlyMemory(how How) {
	e := s.entry
	unchanged := e.Hash != "" && (s.unit.Hash == e.Hash || s.unit.Hash == e.ToMemory)
	switch {
	case !unchanged && e.Hash == "" && how.Mode == Import: // it was never in the folder
	case !unchanged || how.Mode == Export:
		s.toFolder(how, true)
	case !how.Delete:
		s.left("deleted in the folder; --delete removes the memory")
	case s.Slug.IsCore():
		s.left("deleted in the folder; the core cannot be removed")
	case !how.Whole:
		s.left("deleted in the folder, but not every relay answered: the memory stays")
	default:
		s.What = RemoveMemory
	}
}
