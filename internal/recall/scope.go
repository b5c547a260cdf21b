package recall

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// projectsPrefix begins the slugs of all projects.
const projectsPrefix = "mem/projects/"

const (
	// maxProject is how long the name of a project may be, in bytes; a longer one is
	// none.
	maxProject = 255
	// maxElsewhere is how many memories of no project and of further ones may have
	// the name of a project as a word: with more it is a word of the language.
	maxElsewhere = 2
	// leastName is how long a name must be that stands alone, in bytes.
	leastName = 3
)

// Scope says where a question is asked, and so of which projects it is answered.
// What belongs to no project is always among it. The zero value is all there is.
type Scope struct {
	// Own are the names of the project of the linked folder in which it is asked, an
	// old one too; none outside of one. Remote and Last are of its repository.
	Own          []string
	Remote, Last string
	// Others are the projects that further folders of this machine have.
	Others []Project
	// All asks for all projects. Told says that nothing was asked: a hook tells.
	All, Told bool
}

// Project is one that a folder has: its name as slugs have it, and of its
// repository host/path and the last level of it; "" where that is not known.
type Project struct{ Name, Remote, Last string }

// title is what a project is called: in characters that end no heading.
func (p Project) title() string {
	name := p.Remote
	if name == "" {
		name = p.Name
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (isWord(r) || strings.ContainsRune("./-", r)) {
			return r
		}
		return '-'
	}, name[:min(len(name), maxProject)])
}

// projectOf reads the front matter's key, also one written like a slug.
func projectOf(key string) string {
	key = strings.Trim(strings.TrimPrefix(strings.TrimSpace(key), projectsPrefix), "/")
	if len(key) > maxProject {
		return ""
	}
	return key
}

// Within is a scope as it is for one question. nil is all there is.
type Within struct {
	scope Scope
	at    map[string]int // names: -1 is the own project, others are of scope.Others
	named []bool         // of scope.Others: the question names it
	rest  bool           // what the scope leaves out
}

const ownProject = -1

// Within reads which projects a question names: by owner/name or the URL of the
// repository, and where it was asked also by the last level alone, if that is no
// word of the language: the own project's memories do not have it, and
// at most two of no project or of further ones do.
func (x *Index) Within(s Scope, text string) *Within {
	if len(s.Own) == 0 && len(s.Others) == 0 && !s.Told {
		return nil
	}
	w := &Within{scope: s, at: map[string]int{}, named: make([]bool, len(s.Others))}
	for i, o := range s.Others {
		w.at[o.Name] = i
	}
	for _, name := range s.Own {
		w.at[name] = ownProject
	}
	if !w.limits() || len(s.Own) == 0 {
		return w
	}
	text = strings.ToLower(text[:min(len(text), MaxQuery)])
	for i, o := range s.Others {
		w.named[i] = mentioned(text, strings.ToLower(o.Name), "") || s.mentions(text, o) || !s.Told && x.lastSaid(w, i, text)
	}
	return w
}

// limits reports whether a scope leaves anything out.
func (w *Within) limits() bool { return !w.scope.All && (w.scope.Told || len(w.scope.Own) > 0) }

// Rest is what a scope leaves out; false if nothing.
func (w *Within) Rest() (*Within, bool) {
	if w == nil || !w.limits() {
		return nil, false
	}
	out := *w
	out.rest = !w.rest
	return &out, true
}

// Has reports whether a document is among it, by its slug and the front matter's
// project.
func (w *Within) Has(slug, project string) bool {
	return w == nil || w.tells(slug, project) != w.rest
}

func (w *Within) tells(slug, project string) bool {
	name := belongs(slug, project)
	if name == "" || w.scope.All {
		return true
	}
	at, known := w.find(name)
	switch s := &w.scope; {
	case known && at == ownProject:
		return true
	case known:
		return w.named[at] || len(s.Own) == 0 && !s.Told
	case !s.Told: // no folder of this machine has that name
		return true
	default: // as our own instructions named slugs: mem/projects/atlas
		first, _, _ := strings.Cut(name, "/")
		return len(s.Own) > 0 && s.Last != "" && strings.EqualFold(first, s.Last)
	}
}

// belongs returns the project of a document, with what follows in its slug; "" for
// none.
func belongs(slug, project string) string {
	if project != "" {
		return project
	}
	rest, ok := strings.CutPrefix(slug, projectsPrefix)
	if !ok {
		return ""
	}
	return rest
}

// find looks a project up that a folder has: the longest name that begins another.
func (w *Within) find(name string) (at int, known bool) {
	for {
		if at, known = w.at[name]; known {
			return at, true
		}
		end := strings.LastIndexByte(name, '/')
		if end < 0 {
			return 0, false
		}
		name = name[:end]
	}
}

// Of is what another project is called whose a document is; "" if it is of none
// that a folder of this machine has, or of the own one.
func (x *Index) Of(w *Within, slug string) string {
	id, ok := x.bySlug[slug]
	if w == nil || !ok {
		return ""
	}
	at, known := w.find(belongs(slug, x.docs[id].project))
	if !known || at == ownProject {
		return ""
	}
	return w.scope.Others[at].title()
}

// Any reports whether a filter allows a document.
func (x *Index) Any(f Filter) bool {
	return slices.ContainsFunc(x.docs, func(d document) bool { return d.to > d.from && f.allows(&d) })
}

// Project returns the front matter's project of the document at a slug.
func (x *Index) Project(slug string) string {
	if id, ok := x.bySlug[slug]; ok {
		return x.docs[id].project
	}
	return ""
}

// mentions reports whether a text has the owner/name or the URL of a repository.
// With another host before it, it is another one; without a host it is the own one
// where that is called alike.
func (s *Scope) mentions(text string, p Project) bool {
	host, path, ok := strings.Cut(strings.ToLower(p.Remote), "/")
	if !ok || path == "" {
		return false
	}
	_, own, _ := strings.Cut(strings.ToLower(s.Remote), "/")
	return mentioned(text, host+"/"+path, "") || mentioned(text, host+":"+path, "") || own != path && strings.Contains(path, "/") && mentioned(text, path, "/:")
}

// mentioned reports whether a word stands in a text by itself: no part of a longer
// name, nor behind one of the characters.
func mentioned(text, word, behind string) bool {
	for at := 0; word != "" && at < len(text); {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		if !isWord(before) && !strings.ContainsRune("-."+behind, before) && ends(text[to:]) {
			return true
		}
		at = from + 1
	}
	return false
}

// ends reports whether a name ends before a text: at the end of a sentence, before
// .git, a slash or a blank.
func ends(rest string) bool {
	if after, ok := strings.CutPrefix(rest, ".git"); ok {
		rest = after
	}
	rest = strings.TrimPrefix(rest, ".")
	next, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !isWord(next) && next != '-'
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// havingAll returns the documents that have each of some terms.
func (x *Index) havingAll(terms []string) (docs []int32) {
	counts := make([]int, len(x.docs))
	for i, t := range terms {
		id, ok := x.terms[t]
		if !ok {
			return nil
		}
		for _, p := range x.posts[id] {
			if doc := x.sections[p.section()].doc; doc >= 0 && counts[doc] == i {
				counts[doc]++
			}
		}
	}
	for id, n := range counts {
		if n == len(terms) && x.docs[id].to > x.docs[id].from {
			docs = append(docs, int32(id))
		}
	}
	return docs
}

// lastSaid reports whether a text names a project by the last level alone.
func (x *Index) lastSaid(w *Within, i int, text string) bool {
	last := strings.ToLower(w.scope.Others[i].Last)
	if len(last) < leastName || strings.EqualFold(last, w.scope.Last) || x.generic(last) || !mentioned(strings.ReplaceAll(text, "/", "_"), last, "") { // of a path it is a part
		return false
	}
	terms := x.Terms(last)
	if len(terms) == 0 { // stop words
		return false
	}
	elsewhere := 0
	for _, id := range x.havingAll(terms) {
		d := &x.docs[id]
		switch at, known := w.find(belongs(d.slug, d.project)); {
		case known && at == ownProject:
			return false
		case known && at == i:
		default:
			if elsewhere++; elsewhere > maxElsewhere {
				return false
			}
		}
	}
	return true
}
