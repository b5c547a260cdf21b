package activity

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	// UsagePrefix is where each writer keeps what it counted: its id follows.
	UsagePrefix = "mem/sys/usage/"
	// MaxUsage bounds one such text in bytes, maxUsed its lines, and MaxWriters how
	// many of them are read.
	MaxUsage   = 48 << 10
	maxUsed    = 800
	MaxWriters = 64
	// mostUses is what one writer can count of one memory.
	mostUses  = 1 << 20
	usageHead = "engramd usage 1"
)

// EncodeUsage writes what one writer counted: of its most used memories a line
// each, "uses last slug", as many as there is room for.
func EncodeUsage(uses map[string]Use) string {
	slugs := make([]string, 0, len(uses))
	for slug, u := range uses {
		if u.N > 0 {
			slugs = append(slugs, slug)
		}
	}
	slices.SortFunc(slugs, func(a, b string) int {
		return cmp.Or(cmp.Compare(uses[b].N, uses[a].N), uses[b].Last.Compare(uses[a].Last), strings.Compare(a, b))
	})
	var out strings.Builder
	out.WriteString(usageHead + "\n")
	for _, slug := range slugs[:min(len(slugs), maxUsed)] {
		line := strconv.FormatInt(min(uses[slug].N, mostUses), 10) + " " + strconv.FormatInt(uses[slug].Last.Unix(), 10) + " " + slug + "\n"
		if out.Len()+len(line) > MaxUsage {
			break
		}
		out.WriteString(line)
	}
	return out.String()
}

// DecodeUsage reads what EncodeUsage wrote. What is no line of it is left out:
// counters are worth no error. A last use to come is taken for one of now.
func DecodeUsage(text string, now time.Time) map[string]Use {
	all := map[string]Use{}
	if len(text) > MaxUsage {
		return all
	}
	head, rest, _ := strings.Cut(text, "\n")
	if head != usageHead {
		return all
	}
	for n := 0; rest != "" && n < maxUsed; n++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		fields := strings.Split(line, " ")
		if len(fields) != 3 {
			continue
		}
		uses, err1 := strconv.ParseInt(fields[0], 10, 64)
		last, err2 := strconv.ParseInt(fields[1], 10, 64)
		slug, err3 := nipae.NormalizeSlug(fields[2])
		if err1 != nil || err2 != nil || err3 != nil || uses <= 0 || last < 0 {
			continue
		}
		u := Use{min(uses, mostUses), time.Unix(min(last, now.Unix()), 0).UTC()}
		all[string(slug)] = Most(all[string(slug)], u)
	}
	return all
}

// Most is what two counts of one writer say: the greater one.
func Most(a, b Use) Use {
	return Use{max(a.N, b.N), later(a.Last, b.Last)}
}

// AddUses adds what another writer counted.
func AddUses(to, from map[string]Use) {
	for slug, u := range from {
		t := to[slug]
		to[slug] = Use{t.N + u.N, later(t.Last, u.Last)}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Known is what is known of units besides their texts, by slug.
type Known struct {
	Uses     map[string]Use
	Feedback map[string]Feedback
}

// Text is a text of a memory, and when it was written last.
type Text struct {
	Slug    string
	Text    string
	Written time.Time
}

// Reader makes units of texts.
type Reader struct {
	known Known
	says  map[string]float64
	core  map[string]bool // what the core links to
}

// NewReader returns one over what is known, how much documents say
// (Informations), and the text of the core.
func NewReader(k Known, says map[string]float64, core string) Reader {
	r := Reader{known: k, says: says, core: map[string]bool{}}
	for _, slug := range nipae.References(core) {
		r.core[string(slug)] = true
	}
	return r
}

// Unit makes a unit of a text; false if it is not active.
func (r Reader) Unit(t Text) (Unit, bool) { return r.unit(t, frontmatter.Active) }

// Superseded makes one of a text that is superseded; false if it is not.
func (r Reader) Superseded(t Text) (Unit, bool) { return r.unit(t, frontmatter.Superseded) }

func (r Reader) unit(t Text, state frontmatter.State) (Unit, bool) {
	d := frontmatter.Parse(t.Text)
	f := d.Fields()
	if f.State != state {
		return Unit{}, false
	}
	u := Unit{Slug: t.Slug, Tokens: Tokens(len(t.Text)), Created: f.Created.Time, Uses: r.known.Uses[t.Slug], Information: r.says[t.Slug],
		Feedback: r.known.Feedback[t.Slug], Held: r.held(t.Slug, f, d.Trust())}
	if u.Created.IsZero() {
		u.Created = t.Written
	}
	if f.HasSalience {
		u.Salience = f.Salience
	}
	return u, true
}

// held says why a unit is never archived, "" if it may be.
func (r Reader) held(slug string, f frontmatter.Fields, trust frontmatter.Trust) string {
	switch {
	case slug == string(nipae.Core):
		return "core"
	case f.Pin:
		return "pinned"
	case f.Type == frontmatter.Narrative:
		return "narrative"
	case f.Type == frontmatter.Prospective:
		return "an intention that is not done"
	case trust == frontmatter.Told:
		return "told"
	case r.core[slug]:
		return "linked from core"
	}
	return ""
}
