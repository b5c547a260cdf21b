package consolidation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
)

// MaxArchived is how many units one plan archives that is not about archiving.
const MaxArchived = 5

// Texts gives the text that is at a slug now, and its hash; false if there is none.
type Texts func(slug string) (head, hash string, ok bool)

// CheckOptions are what operations are judged by, beside the plan.
type CheckOptions struct {
	Now             time.Time
	Source, Session string      // stamped; a source of "" is that of the plan
	View            answer.View // what else the memory holds: whose words a text has, what is like it
	// Meaning compares what an insight says with what is there; nil without a model.
	Meaning Meaning
}

// Check judges operations on a plan as a whole, and returns the writes that follow
// from them, what adds before what takes away. No operation means no change. The
// error is ErrPlan, or an *OpError, with ErrChanged beneath it if a unit is not what
// the plan showed.
func Check(p Plan, ops []Op, text Texts, o CheckOptions) ([]Change, error) {
	switch {
	case o.View == nil:
		return nil, errors.New("operations are judged against a memory, and none was given")
	case !slices.Contains([]Kind{Consolidate, Dream, Archive}, p.Kind), p.Identify().ID != p.ID:
		return nil, ErrPlan
	case len(ops) == 0:
		return nil, nil
	case len(ops) > MaxOps && p.Kind != Archive:
		return nil, &OpError{Index: -1, Reason: fmt.Sprintf("%d operations, and one answer has %d at most", len(ops), MaxOps)}
	}
	said := ops // with what nobody sees
	ops, err := normal(p.Kind, ops)
	if err != nil {
		return nil, err
	}
	if p.Kind == Dream {
		if err := checkDream(p, ops, text, o); err != nil {
			return nil, err
		}
	}
	o.Source = cmp.Or(o.Source, "mind:"+p.ID)
	from := &origins{view: o.View}
	c := &checker{plan: p, ops: ops, said: said, text: text, o: o, from: from, theirs: from.shownBy(p), drafts: map[string]*draft{}, aims: map[string]int{}}
	for _, pass := range []func() error{c.writes, c.others, c.secrets, c.final} {
		if err := pass(); err != nil {
			return nil, err
		}
	}
	return c.changes()
}

// checker judges the operations of one plan.
type checker struct {
	plan   Plan
	ops    []Op
	said   []Op // as they were given
	text   Texts
	o      CheckOptions
	from   *origins
	theirs string // somebody else's unit that the plan shows; "" for none
	drafts map[string]*draft
	order  []*draft
	aims   map[string]int // which operation decides over a unit
}

// draft is a unit that operations name, as it will be.
type draft struct {
	slug       string
	head, base string // what is there, "" for a new one
	doc        frontmatter.Doc
	fields     frontmatter.Fields
	when       time.Time
	role       Role

	op       int // the first that names it
	write    *Op // what it is written anew by; nil: its words stay
	sources  []*draft
	trust    frontmatter.Trust
	edges    []frontmatter.Relation
	state    frontmatter.State
	consider bool // it is an episode, and thought over
	note     string
}

func (c *checker) fail(i int, format string, args ...any) error {
	return &OpError{Index: i, Op: c.ops[i].Op, Reason: fmt.Sprintf(format, args...)}
}

// shown returns a unit that the plan showed and that is what it was.
func (c *checker) shown(i int, slug string) (*draft, error) {
	if d := c.drafts[slug]; d != nil && d.base != "" {
		return d, nil
	}
	u, ok := c.plan.Find(slug)
	if !ok {
		return nil, c.fail(i, "the plan does not show %s: name only units that it shows", slug)
	}
	head, hash, ok := c.text(slug)
	if !ok || hash != u.Hash {
		return nil, &OpError{Index: i, Op: c.ops[i].Op, Reason: slug + " has changed since the plan was made: prepare anew", err: ErrChanged}
	}
	d := &draft{slug: slug, head: head, base: hash, doc: frontmatter.Parse(head), role: u.Role, op: i}
	d.fields = d.doc.Fields()
	d.trust, d.state = d.fields.Trust, d.fields.State
	h, _ := c.o.View.Head(slug)
	d.when = momentOf(d.fields, time.Unix(h.UpdatedAt, 0).UTC())
	c.add(d)
	return d, nil
}

func (c *checker) add(d *draft) {
	c.drafts[d.slug] = d
	c.order = append(c.order, d)
}

// named is shown for an operation by which an episode counts as thought over.
func (c *checker) named(i int, slug string) (*draft, error) {
	d, err := c.shown(i, slug)
	if err != nil {
		return nil, err
	}
	d.consider = d.consider || d.role == Episode
	return d, nil
}

// secrets refuses what looks like one in the words of an operation, unless it stands
// in a unit that this names: whoever let it in there was asked.
func (c *checker) secrets() error {
	for i, op := range c.ops {
		var had []string
		for _, slug := range slices.Concat([]string{op.Slug, op.Old, op.New, op.From, op.To}, op.DerivedFrom, op.InspiredBy) {
			if d := c.drafts[slug]; d != nil {
				had = append(had, d.head)
			}
		}
		given := c.said[i]
		for _, said := range [][]string{{op.Text, op.Description, op.Why}, {given.Text, given.Description, given.Why}} {
			if err := secrets.CheckChange(strings.Join(had, "\n\n"), strings.Join(append(said, given.Tags...), "\n\n")); err != nil {
				kind, _ := errors.AsType[*secrets.Error](err)
				return &OpError{Index: i, Op: op.Op, Reason: "it holds what looks like a secret (" + kind.Kind + "): leave the value out, and write where it is kept", err: err}
			}
		}
	}
	return nil
}

// aim takes a unit for the one operation that decides what becomes of it.
func (c *checker) aim(i int, slug string) error {
	if first, ok := c.aims[slug]; ok {
		return c.fail(i, "operation %d is about %s too: say one thing of each unit", first+1, slug)
	}
	c.aims[slug] = i
	return nil
}

// final judges what the memory would be after all operations.
func (c *checker) final() error {
	archived := 0
	for _, d := range c.order {
		i := c.opOf(d)
		if d.state == frontmatter.Archived && d.fields.State != frontmatter.Archived {
			archived++
		}
		if archived > MaxArchived && c.plan.Kind != Archive {
			return c.fail(i, "one plan archives %d units at most", MaxArchived)
		}
		if other := c.leaves(d); other != "" {
			return c.fail(i, "%s corrects what %s says, which would be found in its place: archive that too", d.slug, other)
		}
		if d.consider && d.state != frontmatter.Active && !c.stands(d.slug) {
			return c.fail(i, "%s would be neither active nor in derived_from of a unit that is: write what follows from it first", d.slug)
		}
		for _, e := range d.edges {
			if e.Relation == relSupersedes && d.state != frontmatter.Active {
				return c.fail(c.aims[e.Target], "%s would not be active itself, and cannot take the place of %s", d.slug, e.Target)
			}
		}
	}
	return c.oneNarrative()
}

// leaves returns what would be found in place of a unit that is archived; "" for
// nothing.
func (c *checker) leaves(d *draft) string {
	if d.state != frontmatter.Archived || d.fields.State == frontmatter.Archived {
		return ""
	}
	for _, slug := range c.o.View.Index().Truth().Holds(d.slug) {
		if other := c.drafts[slug]; other == nil || other.state == frontmatter.Active {
			return slug
		}
	}
	return ""
}

// stands reports whether a unit that is active after the plan is derived from an
// episode.
func (c *checker) stands(episode string) bool {
	from := func(edges []frontmatter.Relation) bool {
		return slices.ContainsFunc(edges, func(r frontmatter.Relation) bool { return r.Relation == "derived_from" && r.Target == episode })
	}
	for _, d := range c.order {
		if d.state != frontmatter.Active {
			continue
		}
		if d.write != nil && slices.Contains(d.write.DerivedFrom, episode) && d.slug != episode || d.write == nil && from(d.fields.Relations) {
			return true
		}
	}
	for _, u := range c.plan.Units {
		if c.drafts[u.Slug] != nil {
			continue
		}
		if head, hash, ok := c.text(u.Slug); ok && hash == u.Hash {
			if f := frontmatter.Parse(head).Fields(); f.State == frontmatter.Active && from(f.Relations) {
				return true
			}
		}
	}
	return false
}

// oneNarrative refuses a second one beside that which is written.
func (c *checker) oneNarrative() error {
	d := c.drafts[NarrativeSlug]
	if d == nil || d.write == nil {
		return nil
	}
	var others []string
	for _, l := range c.o.View.Index().Matching(recall.Filter{Types: []frontmatter.Type{frontmatter.Narrative}}) {
		if other := c.drafts[l.Slug]; l.Slug != NarrativeSlug && !answer.Reserved(l.Slug) && c.from.stranger(l.Slug) == "" && (other == nil || other.state == frontmatter.Active) {
			others = append(others, l.Slug)
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return c.fail(c.aims[NarrativeSlug], "there is one narrative: supersede %s by it, or archive that first", strings.Join(others[:min(len(others), 3)], ", "))
}
