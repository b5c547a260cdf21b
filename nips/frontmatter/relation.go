package frontmatter

import (
	"slices"
	"strings"
	"time"

	"engramd/nips/nipae"
)

// Relations are the keys that relate a unit to others.
var Relations = []string{"derived_from", "supersedes", "contradicts", "supports", "causes", "inspired_by", "related_to"}

// Link is the relation of a [[slug]] in the body.
const Link = "links_to"

// Relation is one edge from a unit.
type Relation struct {
	Relation string  // one of Relations, or Link
	Target   string  // a slug, or an event id
	Strength float64 // 0 to 1; 1 if nothing is said
}

// Value returns how the relation stands in a list of front matter.
func (r Relation) Value() string {
	if r.Strength == 1 {
		return r.Target
	}
	return r.Target + " " + Number(r.Strength).scalar
}

// relations reads "slug" and "slug 0.8". A target may stand in [[ ]], as
// Obsidian writes it.
func (r *reader) relations() []Relation {
	var all []Relation
	for _, key := range Relations {
		for _, item := range r.list(key) {
			fields := strings.Fields(item)
			rel := Relation{Relation: key, Strength: 1}
			ok := len(fields) == 1
			if len(fields) == 2 {
				rel.Strength, ok = within(fields[1])
			}
			if !ok {
				r.fault(key, "it must be slugs, each with a strength from 0 to 1 behind it or none")
				continue
			}
			rel.Target = strings.TrimSuffix(strings.TrimPrefix(fields[0], "[["), "]]")
			all = append(all, rel)
		}
	}
	return all
}

// Links returns all edges of the unit: its relations, and the [[slug]] links of
// its body (NIP-AE, "References"), each once.
func (d Doc) Links() []Relation {
	all := d.Fields().Relations
	for _, slug := range nipae.References(d.Body()) {
		all = append(all, Relation{Relation: Link, Target: string(slug), Strength: 1})
	}
	return all
}

// Trust says how far a text may be believed, the least first. Any way of writing
// may lower it, none may raise it. It is a convention among tools that keep it:
// whoever holds the agent's key can write anything.
type Trust uint8

// The order of trust.
const (
	External Trust = iota // somebody else's words
	Derived               // a result of thinking over others
	Observed              // the agent's own writing, and texts that say nothing
	Told                  // what the owner proposed and the agent accepted
)

var trusts = [...]string{"external", "derived", "observed", "told"}

// String returns the word that stands in front matter.
func (t Trust) String() string { return trusts[min(int(t), len(trusts)-1)] }

// ParseTrust reads the word.
func ParseTrust(s string) (Trust, bool) {
	i := slices.Index(trusts[:], s)
	return Trust(max(i, 0)), i >= 0
}

// Lower returns the lesser of two.
func (t Trust) Lower(o Trust) Trust { return min(t, o) }

// Trust returns the trust of a text: observed if it says nothing, external if it
// says what cannot be read, the lowest if it says several.
func (d Doc) Trust() Trust {
	t, _ := d.trust()
	return t
}

func (d Doc) trust() (lowest Trust, ok bool) {
	all := d.values(keyTrust)
	if len(all) == 0 {
		return Observed, true
	}
	lowest, ok = Told, true
	for _, v := range all {
		s, _ := v.Scalar()
		t, known := ParseTrust(s)
		lowest, ok = lowest.Lower(t), ok && known
	}
	return lowest, ok
}

func (r *reader) trust() Trust {
	t, ok := r.doc.trust()
	if !ok {
		r.fault(keyTrust, "it must be told, observed, derived or external; external holds")
	}
	return t
}

// The fields that are stamped.
const (
	keyCreated      = "created"
	keySource       = "source"
	keySession      = "session"
	keyAfter        = "after_reading"
	keyProject      = "project"
	keyConsolidated = "consolidated"
	keyTrust        = "trust"
)

// kept are the stamped fields that a text may have only as its head has them.
var kept = []string{keyCreated, keySource, keySession, keyAfter, keyConsolidated}

// Claims returns which keys of a text that is to be written as it stands claim
// more than the head it replaces (nil: there is none) grants: another created,
// source, session or consolidated, or more trust. Whoever writes texts
// byte for byte refuses one that claims anything. A text that leaves trust out
// claims to be observed.
func Claims(d Doc, head *Doc) []string {
	var claimed []string
	before := Doc{}
	if head != nil {
		before = *head
	}
	for _, key := range kept {
		had := before.values(key)
		another := func(v Value) bool { return !slices.ContainsFunc(had, v.Equal) }
		if slices.ContainsFunc(d.values(key), another) {
			claimed = append(claimed, key)
		}
	}
	if d.Trust() > before.Trust() {
		claimed = append(claimed, keyTrust)
	}
	return claimed
}

// Stamp is what a way of writing says of the text that comes by it.
type Stamp struct {
	Now     time.Time
	Source  string // "" for none
	Session string // "" for none
	// AfterReading names what of somebody else's words the session was shown before; what
	// the head says stands beside it.
	AfterReading []string
	// Project is of whose memory a text is that does not say so itself; "" for none.
	Project string
	// Most is the most trust that this way gives: Observed for the agent's own
	// writing, Derived for results of consolidation, External for what others
	// wrote.
	Most Trust
	// Reset lets Most stand whatever the head has: for a proposal of the owner
	// that was accepted, and nothing else.
	Reset bool
}

// Stamped returns a text with the stamped fields as they must be, whatever it
// says itself: created and consolidated are the head's (created is Now without
// one), source and session the stamp's, and trust is the least of what the
// text says, the head has and the stamp allows.
func Stamped(d Doc, head *Doc, s Stamp) (string, error) {
	trust, created := d.Trust().Lower(s.Most), At(s.Now).Value()
	if s.Reset {
		trust = s.Most
	}
	consolidated, after := Remove(keyConsolidated), s.AfterReading
	if head != nil {
		if !s.Reset {
			trust = trust.Lower(head.Trust())
			after = slices.Concat(head.Fields().AfterReading, after)
		}
		if v, ok := head.Value(keyCreated); ok {
			created = timely(v)
		}
		if v, ok := head.Value(keyConsolidated); ok {
			consolidated = Set(keyConsolidated, timely(v))
		}
	}
	changes := []Change{}
	if _, said := d.Value(keyProject); !said && s.Project != "" {
		changes = append(changes, Set(keyProject, String(s.Project)))
	}
	return d.Edit(append(changes, stampOf(keySession, s.Session), readOf(after), Set(keyCreated, created), stampOf(keySource, s.Source),
		Set(keyTrust, String(trust.String())), consolidated)...)
}

// keyExpires is stamped by who signs the event, which alone expires.
const keyExpires = "expires"

// Dated returns a text that says when its event expires, the zero Moment for never, and
// was to before, or elsewhere. Whatever else it says of that itself is a claim: expires_claimed.
func Dated(d Doc, at Moment, was ...Moment) (string, error) {
	changes := []Change{}
	for _, v := range d.values(keyExpires) {
		if !slices.ContainsFunc(append(was, at), func(m Moment) bool { return v.Equal(m.Value()) }) {
			changes = append(changes, Set(keyExpires+"_claimed", timely(v)))
		}
	}
	if !at.IsZero() {
		changes = append(changes, Set(keyExpires, at.Value()))
	} else if _, says := d.Value(keyExpires); says {
		changes = append(changes, Remove(keyExpires))
	}
	return d.Edit(changes...)
}

// timely returns a value that is a time so that it is written without quotes.
func timely(v Value) Value {
	_, v.bare = ParseMoment(v.scalar)
	return v
}

// maxRead is how many names of what was read before stand in a text: the last ones.
// maxReadName is how many characters of each, so that a slug is whole: a head may have
// been written by another program, and each write copies the names of the one before.
const (
	maxRead     = 5
	maxReadName = 255
)

func readOf(names []string) Change {
	var all []string
	for _, name := range slices.Backward(names) {
		if runes := []rune(name); len(runes) > maxReadName {
			name = string(runes[:maxReadName])
		}
		if len(all) < maxRead && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return Remove(keyAfter)
	}
	slices.Reverse(all)
	return Set(keyAfter, Strings(all...))
}

func stampOf(key, text string) Change {
	if text == "" {
		return Remove(key)
	}
	return Set(key, String(text))
}
