package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	projectsPrefix = "mem/projects/" // begins the slugs of all projects
	maxProject     = 255             // bytes of a project's name; a longer one is none
	// maxElsewhere is how many memories that are not of a project may have its name as
	// a word: with more it is a word of the language. leastName is how many bytes a
	// name has at least that stands alone.
	maxElsewhere = 2
	leastName    = 3
	// mostLevels is how many levels of a name are looked at, and mostNamed how many
	// projects of which the last level stands in a question.
	mostLevels = 4
	mostNamed  = 16
)

// Scope says where a question is asked, and so of which projects it is answered.
// What belongs to no project is always among it. The zero value is all there is.
type Scope struct {
	// Own are the names of the project of the linked folder in which it is asked, an
	// old one too; none outside of one. Remote and Last are of its repository.
	Own          []string
	Remote, Last string
	Others       []Project // that further folders of this machine have
	// All asks for all projects. Told says that nothing was asked: a hook tells.
	All, Told bool
}

// Project is one that a folder has: its name as slugs have it, and of its
// repository host/path and the last level of it; "" where that is not known.
type Project struct{ Name, Remote, Last string }

// title is what a project is called, in characters that end no heading.
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
	index *Index
	at    map[string]int // by name: ownProject, or which of scope.Others
	named []bool         // of scope.Others: the question names it
	rest  bool           // what the scope leaves out

	looked int // how many last levels were looked up
}

const (
	ownProject = -1
	noFolders  = -2 // no folder of this machine has it
)

// Within reads which projects a question names: by owner/name or the URL of the
// repository, and where it was asked also by the last level alone, if that is no
// word of the language: see lastSaid.
func (x *Index) Within(s Scope, text string) *Within {
	if len(s.Own) == 0 && len(s.Others) == 0 && !s.Told {
		return nil
	}
	w := &Within{scope: s, index: x, at: map[string]int{}, named: make([]bool, len(s.Others))}
	for i, o := range s.Others {
		w.at[o.Name] = i
	}
	for _, name := range s.Own {
		w.at[name] = ownProject
	}
	text = strings.ToLower(text[:min(len(text), MaxQuery)])
	for i, o := range s.Others {
		w.named[i] = len(s.Own) > 0 && (mentioned(text, strings.ToLower(o.Name), "") || s.mentions(text, o) || !s.Told && w.lastSaid(text, i))
	}
	return w
}

// Rest is what a scope leaves out; false if nothing.
func (w *Within) Rest() (*Within, bool) {
	if w == nil || w.scope.All || !w.scope.Told && len(w.scope.Own) == 0 {
		return nil, false
	}
	out := *w
	out.rest = !w.rest
	return &out, true
}

// has reports whether a document is among it, by its slug and the front matter's
// project.
func (w *Within) has(slug, project string) bool {
	return w == nil || w.tells(slug, project) != w.rest
}

func (w *Within) tells(slug, project string) bool {
	at, name := w.find(slug, project)
	switch s := &w.scope; {
	case name == "" || s.All || at == ownProject:
		return true
	case at != noFolders:
		return w.named[at] || len(s.Own) == 0 && !s.Told
	case !s.Told:
		return true
	default: // as our own instructions named slugs: mem/projects/atlas, but no host/owner/name
		first, below, _ := strings.Cut(name, "/")
		return len(s.Own) > 0 && s.Last != "" && strings.EqualFold(first, s.Last) && !strings.Contains(below, "/")
	}
}

// find returns the project of a document, with what follows in its slug, "" for
// none; and which it is of those that folders have: the longest name that begins it.
func (w *Within) find(slug, project string) (at int, name string) {
	if name = project; name == "" {
		if rest, ok := strings.CutPrefix(slug, projectsPrefix); ok {
			name = rest
		}
	}
	end := len(name)
	for i, levels := 0, 0; i < len(name); i++ { // names have few levels, and a key may have any number
		if name[i] == '/' {
			if levels++; levels == mostLevels {
				end = i
				break
			}
		}
	}
	for ; end > 0; end = strings.LastIndexByte(name[:end], '/') {
		if at, known := w.at[name[:end]]; known {
			return at, name
		}
	}
	return noFolders, name
}

// owns reports whether a document is of the project of the folder in which is asked.
func (w *Within) owns(slug string) bool {
	if w == nil {
		return false
	}
	at, _ := w.find(slug, w.index.project(slug))
	return at == ownProject
}

// Has reports whether the document at a slug is among it.
func (w *Within) Has(slug string) bool { return w == nil || w.has(slug, w.index.project(slug)) }

// Of is what another project is called whose a document is; "" if it is of none
// that a folder of this machine has, or of the own one.
func (w *Within) Of(slug string) string {
	if w == nil {
		return ""
	}
	if at, _ := w.find(slug, w.index.project(slug)); at >= 0 {
		return w.scope.Others[at].title()
	}
	return ""
}

func (x *documents) project(slug string) string {
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
	_, own, _ := strings.Cut(strings.ToLower(s.Remote), "/")
	return ok && path != "" && (mentioned(text, host+"/"+path, "") || mentioned(text, host+":"+path, "") ||
		own != path && strings.Contains(path, "/") && mentioned(text, path, "/:"))
}

// mentioned reports whether a word stands in a text by itself: no part of a longer
// name, nor behind one of the characters.
func mentioned(text, word, behind string) bool {
	for at := 0; word != "" && at < len(text); {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		from, rest := at+i, text[at+i+len(word):]
		before, _ := utf8.DecodeLastRuneInString(text[:from])
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, ".git"), ".") // or the end of a sentence
		next, _ := utf8.DecodeRuneInString(rest)
		if !isWord(before) && !strings.ContainsRune("-."+behind, before) && (rest == "" || !isWord(next) && next != '-') {
			return true
		}
		at = from + 1
	}
	return false
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// lastSaid reports whether a text has the last level of a project's repository as a
// word, outside of a path, that is no word of the language: neither a stop word
// nor one by which people ask, and no memory of the own project has it, and few
// that are not of that project.
func (w *Within) lastSaid(text string, i int) bool {
	last, x := strings.ToLower(w.scope.Others[i].Last), w.index
	if len(last) < leastName || strings.EqualFold(last, w.scope.Last) || !mentioned(strings.ReplaceAll(text, "/", "_"), last, "") || generic(last) || len(Terms(last)) == 0 || w.looked >= mostNamed {
		return false
	}
	w.looked++
	elsewhere := 0
	for slug := range x.holding([][]word{plainWords(last)}, theEnglish) {
		switch at, _ := w.find(slug, x.project(slug)); at {
		case ownProject:
			return false
		case i:
		default:
			if elsewhere++; elsewhere > maxElsewhere {
				return false
			}
		}
	}
	return true
}
