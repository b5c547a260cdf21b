package frontmatter

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// order is the order of the keys that this package knows, which is that in
// which Render writes them.
var order = []string{"name", "title", "type", "description", "tags", "who", "when", "session", "after_reading", "project", "created", "expires", "source", "trust",
	"salience", "decay", "emotion", "derived_from", "supersedes", "contradicts", "supports", "causes", "inspired_by", "related_to",
	"state", "path", "pin", "consolidated", "due", "every", "until", "snoozed", "trigger", "where", "action", "when_doing",
	"propose", "slug", "base", "version", "vouch", "why"}

// Type says what a unit is.
type Type string

// The types.
const (
	Episodic    Type = "episodic"
	Semantic    Type = "semantic"
	Procedural  Type = "procedural"
	Insight     Type = "insight"
	Prospective Type = "prospective"
	Narrative   Type = "narrative"
)

// Types are all of them.
var Types = []Type{Episodic, Semantic, Procedural, Insight, Prospective, Narrative}

// State says whether a unit still holds.
type State string

// The states. Only what is active is found unless somebody asks for more.
const (
	Active     State = "active"
	Archived   State = "archived"
	Superseded State = "superseded"
	Done       State = "done"
)

// States are all of them.
var States = []State{Active, Archived, Superseded, Done}

// Emotions are the eight dimensions of a unit's emotion, in the order of
// Fields.Emotion.
var Emotions = [8]string{"joy", "frustration", "curiosity", "anger", "surprise", "satisfaction", "fear", "calm"}

const (
	// DefaultSalience and DefaultDecay are what a unit has that says nothing.
	DefaultSalience = 0.5
	DefaultDecay    = 0.95
)

// Fields are what a text says of itself, with the defaults for what it does not
// say or says in a way that cannot be read (Faults).
type Fields struct {
	Type        Type
	Name, Title string // other tools' names for it
	Kind        string // other tools' metadata.type
	Description string
	Tags, Who   []string
	When        Moment // of the event, if it is not Created
	Session     string
	// AfterReading names what of somebody else's words had been shown in the session that
	// wrote it.
	AfterReading []string
	Project      string // of whose memory it is, as its slug names it below mem/projects/
	Created      Moment
	Source       string
	Trust        Trust
	Salience     float64 // 0 to 1
	HasSalience  bool    // it was set
	Decay        float64
	Emotion      [8]float64 // by Emotions, each 0 to 1
	Relations    []Relation
	State        State

	Path         string // where another tool had it
	Pin          bool
	Consolidated Moment
	// Of an intention.
	Due, Until, Snoozed    Moment
	Every                  string // ISO 8601
	Trigger, Where, Action string
	// WhenDoing names acts at which the memory bears on a prompt: writing tests.
	WhenDoing []string
	// Of a proposal.
	Propose, Slug, Base, Version, Why string
	Vouch                             bool
}

// Fault is a field that cannot be read as what it must be.
type Fault struct{ Key, Reason string }

// Fields reads the front matter.
func (d Doc) Fields() Fields {
	f, _ := d.read()
	return f
}

// Faults returns what is wrong with the front matter: values that are not what
// their key asks for, so that the default holds, and repeated keys, of which the
// first holds (of trust, the lowest).
func (d Doc) Faults() []Fault {
	_, faults := d.read()
	return faults
}

func (d Doc) read() (Fields, []Fault) {
	r := reader{doc: d}
	seen := make(map[string]bool)
	for _, key := range d.Keys() {
		if seen[key] {
			r.fault(key, "it stands there twice")
		}
		seen[key] = true
	}
	f := Fields{
		Type: oneOf(&r, "type", Types, Semantic), Name: r.text("name"), Title: r.text("title"), Description: r.text("description"),
		Tags: r.list("tags"), Who: r.list("who"), When: r.moment("when"), Session: r.text("session"), AfterReading: r.list(keyAfter), Project: r.text("project"), Created: r.moment("created"),
		Source: r.text("source"), Trust: r.trust(), State: oneOf(&r, "state", States, Active),
		Path: r.text("path"), Pin: r.truth("pin"), Consolidated: r.moment("consolidated"),
		Due: r.moment("due"), Until: r.moment("until"), Snoozed: r.moment("snoozed"), Every: r.text("every"),
		Trigger: r.text("trigger"), Where: r.text("where"), Action: r.text("action"), WhenDoing: r.list("when_doing"),
		Propose: r.text("propose"), Slug: r.text("slug"), Base: r.text("base"), Version: r.text("version"), Why: r.text("why"),
		Vouch: r.truth("vouch"), Emotion: r.emotion(),
	}
	f.Salience, f.HasSalience = r.share("salience", DefaultSalience)
	f.Decay, _ = r.share("decay", DefaultDecay)
	f.Relations = r.relations()
	if v, ok := d.Value("metadata"); ok {
		if i := slices.IndexFunc(v.pairs, func(p Pair) bool { return p.Key == "type" }); i >= 0 {
			f.Kind = v.pairs[i].Value
		}
	}
	if v, ok := d.Value("type"); ok && f.Kind == "" {
		if s, _ := v.Scalar(); !slices.Contains(Types, Type(s)) {
			f.Kind = s
		}
	}
	return f, r.faults
}

// reader reads fields and notes what it could not read.
type reader struct {
	doc    Doc
	faults []Fault
}

func (r *reader) fault(key, reason string) { r.faults = append(r.faults, Fault{key, reason}) }

func (r *reader) text(key string) string {
	v, _ := r.doc.Value(key)
	s, ok := v.Scalar()
	if !ok {
		r.fault(key, "it must be one text")
	}
	return s
}

func (r *reader) list(key string) []string {
	v, _ := r.doc.Value(key)
	if v.form == mapForm {
		r.fault(key, "it must be a list")
	}
	return slices.DeleteFunc(v.Items(), func(s string) bool { return s == "" })
}

// oneOf reads a word of a closed set.
func oneOf[T ~string](r *reader, key string, set []T, otherwise T) T {
	v, ok := r.doc.Value(key)
	if !ok {
		return otherwise
	}
	if s, ok := v.Scalar(); ok && slices.Contains(set, T(s)) {
		return T(s)
	}
	r.fault(key, "it is none of those that are known")
	return otherwise
}

func (r *reader) truth(key string) bool {
	v, ok := r.doc.Value(key)
	s, scalar := v.Scalar()
	if ok && (!scalar || s != "true" && s != "false") {
		r.fault(key, "it must be true or false")
	}
	return scalar && s == "true"
}

func (r *reader) moment(key string) Moment {
	v, ok := r.doc.Value(key)
	if !ok {
		return Moment{}
	}
	s, _ := v.Scalar()
	m, ok := ParseMoment(s)
	if !ok {
		r.fault(key, "it must be a day (2006-01-02) or a time (2006-01-02T15:04:05Z)")
	}
	return m
}

// share reads a number from 0 to 1.
func (r *reader) share(key string, otherwise float64) (float64, bool) {
	v, ok := r.doc.Value(key)
	if !ok {
		return otherwise, false
	}
	s, _ := v.Scalar()
	f, ok := within(s)
	if !ok {
		r.fault(key, "it must be a number from 0 to 1")
		return otherwise, false
	}
	return f, true
}

func (r *reader) emotion() (e [8]float64) {
	v, ok := r.doc.Value("emotion")
	if ok && v.form != mapForm {
		r.fault("emotion", "it must be a mapping such as {joy: 0.5}")
	}
	for _, p := range v.pairs {
		i := slices.Index(Emotions[:], p.Key)
		f, ok := within(p.Value)
		if i < 0 || !ok {
			r.fault("emotion", "it must give numbers from 0 to 1 to "+strings.Join(Emotions[:], ", "))
			continue
		}
		e[i] = f
	}
	return e
}

// number reads a finite decimal number.
func number(s string) (float64, bool) {
	if strings.Trim(s, "0123456789.-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

func within(s string) (float64, bool) {
	f, ok := number(s)
	return f, ok && f >= 0 && f <= 1
}

// Adopted returns the type and, if there is one, the tag that another tool's
// kind of memory becomes (metadata.type of Claude Code, Gentleman's types);
// semantic and the kind itself where it is not known.
func Adopted(kind string) (Type, string) {
	switch {
	case kind == "":
		return Semantic, ""
	case slices.Contains(Types, Type(kind)):
		return Type(kind), ""
	case kind == "bugfix":
		return Episodic, kind
	case kind == "pattern":
		return Procedural, kind
	case kind == "project" || kind == "reference":
		return Semantic, ""
	}
	return Semantic, kind
}
