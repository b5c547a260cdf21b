package consolidation

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
)

// Kind says what a plan is for.
type Kind string

// The kinds.
const (
	Consolidate Kind = "consolidate" // episodes into what they mean
	Dream       Kind = "dream"       // units drawn at random, for what they have in common
	Archive     Kind = "archive"     // units that are hardly used
)

// Role says why a plan shows a unit.
type Role string

// The roles.
const (
	Episode       Role = "episode"   // waits to be consolidated
	Beside        Role = "beside"    // looks like an episode, or contradicts a unit
	Outdated      Role = "outdated"  // it rests on what is superseded
	Stale         Role = "stale"     // old and not used: it may be archived
	Orphan        Role = "orphan"    // nothing links to it, and it links to nothing
	NarrativeRole Role = "narrative" // who the agent is
	Drawn         Role = "drawn"     // of a dream
)

// Shown is a unit that a plan shows, bound to its text.
type Shown struct {
	Slug  string  `json:"slug"`
	Hash  string  `json:"hash"` // of the whole text: see Hash
	Role  Role    `json:"role"`
	Alike []Alike `json:"alike,omitempty"`
	// Note says what took the place of it, or of what it rests on.
	Note string `json:"note,omitempty"`
}

// Alike is a unit that looks like another one, or says that it contradicts it.
type Alike struct {
	Slug string `json:"slug"`
	// Differs are words that one of both has and the other has not.
	Differs     []string `json:"differs,omitempty"`
	Contradicts bool     `json:"contradicts,omitempty"` // one of both says so
}

// Plan is what is shown to who thinks. Nothing is written by making one.
type Plan struct {
	ID      string    `json:"id"`
	Kind    Kind      `json:"kind"`
	Made    time.Time `json:"made"`
	Seed    uint64    `json:"seed,omitempty"` // of a dream
	Units   []Shown   `json:"units"`
	Waiting int       `json:"waiting"` // episodes that wait, with those that are shown
	// Theirs is somebody else's unit that the plan is about, "" for none: it is one of others'
	// words though that unit is removed or replaced before the answer.
	Theirs string    `json:"theirs,omitempty"`
	AsOf   time.Time `json:"as_of"` // when relays were last asked; zero: never
	Stale  bool      `json:"stale"` // not every relay has confirmed it lately
}

// Change is one write that follows from operations. Old and New are whole texts.
type Change struct {
	Slug string `json:"slug"`
	Base string `json:"base,omitempty"` // hash of the head that is replaced; "": nothing may be there
	Old  string `json:"old,omitempty"`
	New  string `json:"new"`
	Op   int    `json:"op"` // the first of the operations that ask for it
	// Note is what whoever looks at the change should know: that a unit contradicts
	// another one instead of superseding it, and why.
	Note string `json:"note,omitempty"`
}

// OpError is an operation that cannot be done, in words that a model can act on.
type OpError struct {
	Index  int    // of the operation; -1: all of them together
	Op     string // what it does
	Reason string
	err    error
}

// Error names the operation, counted from 1.
func (e *OpError) Error() string {
	if e.Index < 0 {
		return e.Reason
	}
	return fmt.Sprintf("operation %d (%s): %s", e.Index+1, e.Op, e.Reason)
}

// Unwrap gives errors.Is ErrChanged.
func (e *OpError) Unwrap() error { return e.err }

var (
	// ErrChanged is a unit that is not any more what the plan showed: the plan must
	// be made anew.
	ErrChanged = errors.New("changed since the plan was made")
	// ErrPlan is a plan that nobody can have been shown.
	ErrPlan = errors.New("not a plan")
)

// Hash returns the SHA-256 of a text in 64 lower-case hex digits: the one that
// writes are based on.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Identify gives the plan its id: the same showing is the same plan, whenever it is
// made.
func (p Plan) Identify() Plan {
	h := sha256.New()
	put := func(s string) { // with its length, so that nothing reads as something else
		_ = binary.Write(h, binary.BigEndian, uint64(len(s)))
		_, _ = h.Write([]byte(s))
	}
	put(string(p.Kind))
	_ = binary.Write(h, binary.BigEndian, p.Seed)
	for _, u := range p.Units {
		put(u.Slug)
		put(u.Hash)
		put(string(u.Role))
	}
	if p.Theirs != "" {
		put(p.Theirs)
	}
	p.ID = "p-" + hex.EncodeToString(h.Sum(nil)[:8])
	return p
}

var planID = pattern.Later(`^p-[0-9a-f]{16}$`)

// IsID reports whether a text has the form of a plan's id.
func IsID(s string) bool { return planID().MatchString(s) }

// Find returns how the plan shows a unit.
func (p Plan) Find(slug string) (Shown, bool) {
	for _, u := range p.Units {
		if u.Slug == slug {
			return u, true
		}
	}
	return Shown{}, false
}

const (
	// DefaultEpisodes is how many episodes one plan shows, and DefaultBytes how
	// long its text is.
	DefaultEpisodes = 20
	DefaultBytes    = 32 << 10
	MinBytes        = 24 << 10
	MaxBytes        = 256 << 10

	// offers is how often an episode is shown in vain until it goes to the end of
	// the line.
	offers = 3
	// maxBeside is how many facts stand beside one episode, maxPairs how many
	// contradictions are shown, maxAside how many stale units, and how many orphans.
	maxBeside  = 3
	maxPairs   = 5
	maxAside   = 5
	staleAfter = 180 * 24 * time.Hour
	// alike is the least share of what is said that two texts have in common which
	// look alike, asked how many sections of an episode are looked for, and ranked
	// among how many facts.
	alike  = 0.25
	asked  = 4
	ranked = 8
)

var episodes = recall.Filter{Types: []frontmatter.Type{frontmatter.Episodic}}

// Whose says whose words a plan is about.
type Whose string

// The sides.
const (
	Own    Whose = "own"    // the agent's
	Others Whose = "others" // somebody else's
)

// Other returns the other side.
func (w Whose) Other() Whose {
	if w == Own {
		return Others
	}
	return Own
}

// Whose returns whose words a plan is about.
func (p Plan) Whose() Whose {
	if p.Theirs != "" {
		return Others
	}
	return Own
}

// PrepareOptions say what a plan of consolidation may show.
type PrepareOptions struct {
	Now time.Time
	// Offered says how often a unit was shown and no operation named it: a unit
	// with three of them goes to the end of the line.
	Offered map[string]int
	// Turn says whose turn it is where both wait; "" is that of whoever has the oldest.
	Turn        Whose
	MaxEpisodes int // 0 is DefaultEpisodes, which is the most
	MaxBytes    int // of Plan.Text; 0 is DefaultBytes
	// Stale says which units are hardly used, so that they may be archived; nil
	// without counters: then age alone says it.
	Stale func(slug string) bool
}

// Prepare makes a plan of consolidation. Episodes of somebody else's words have plans of
// their own: whoever thinks may do what a text says, and then only their units are at
// stake (Check). Where both wait they take turns, so that nobody's dates or numbers hold up
// the other. The same memory and options give the same plan. The error says which option makes no sense.
func Prepare(v answer.View, o PrepareOptions) (Plan, error) {
	o.MaxEpisodes, o.MaxBytes = cmp.Or(o.MaxEpisodes, DefaultEpisodes), cmp.Or(o.MaxBytes, DefaultBytes)
	if o.MaxEpisodes < 1 || o.MaxEpisodes > DefaultEpisodes {
		return Plan{}, fmt.Errorf("a plan shows 1 to %d episodes, not %d", DefaultEpisodes, o.MaxEpisodes)
	}
	if o.MaxBytes < MinBytes || o.MaxBytes > MaxBytes {
		return Plan{}, fmt.Errorf("a plan has %d to %d bytes, not %d", MinBytes, MaxBytes, o.MaxBytes)
	}
	state, m := v.State(), scan(v)
	line := m.line(o.Offered)
	b := m.batch(o, line, m.turn(line, o.Turn))
	if len(line) == 0 && !slices.ContainsFunc(b.units, func(u Shown) bool { return u.Role != NarrativeRole }) {
		if other := m.batch(o, nil, true); len(other.units) > 0 {
			b = other
		}
	}
	p := Plan{
		Kind: Consolidate, Made: o.Now, Waiting: len(line), Units: b.inOrder(),
		AsOf: state.AsOf, Stale: state.Stale || state.Unfinished,
	}
	p.Theirs = m.from.shownBy(p)
	return p.Identify(), nil
}
