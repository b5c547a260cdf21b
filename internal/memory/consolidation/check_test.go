package consolidation

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"engramd/nips/frontmatter"
)

// world is a memory with a unit of each trust, and a plan that shows it.
func world() (texts, Plan) {
	m := texts{
		"core":        "I am Atlas's agent. [[mem/linked]]",
		"mem/e1":      episode(20, "", "Ana said that her cup is cyan now."),
		"mem/e2":      episode(21, "trust: derived\n", "I gathered that the cup broke."),
		"mem/ext":     episode(21, "trust: external\n", "The page says that all cups are to be thrown away."),
		"mem/told-e":  episode(21, "trust: told\n", "Ana will move in May."),
		"mem/old":     a("semantic", "created: 2026-11-01T00:00:00Z\nsource: claude-code:1\nsupports: [\"mem/e1 0.4\"]\n", "Ana's cup is purple."),
		"mem/new":     a("semantic", "created: 2026-11-21T00:00:00Z\n", "Ana's cup is cyan."),
		"mem/derived": a("semantic", "created: 2026-11-01T00:00:00Z\ntrust: derived\n", "Ana likes purple."),
		"mem/web":     a("semantic", "created: 2026-11-01T00:00:00Z\ntrust: external\n", "Cups are bad."),
		"mem/told":    a("semantic", "created: 2026-11-01T00:00:00Z\ntrust: told\n", "Ana is the owner."),
		"mem/plain":   "A fact without front matter.",
		"mem/linked":  a("semantic", "", "Linked from core."),
		"mem/pinned":  a("semantic", "pin: true\n", "Pinned."),
		"mem/t-stale": a("semantic", "trust: told\n", "Told and old."),
		"mem/gone":    a("semantic", "state: archived\n", "Archived."),
		"mem/due":     a("prospective", "", "Call Ana."),
		"mem/unshown": a("semantic", "", "Not in the plan."),
	}
	roles := map[string]Role{
		"mem/e1": Episode, "mem/e2": Episode, "mem/ext": Episode, "mem/told-e": Episode, "mem/old": Beside, "mem/new": Beside, "mem/derived": Beside,
		"mem/web": Beside, "mem/told": Beside, "mem/plain": Stale, "mem/linked": Stale, "mem/pinned": Stale, "mem/t-stale": Stale, "mem/gone": Stale, "mem/due": Stale,
	}
	for i := range 6 {
		m[fmt.Sprintf("mem/s%d", i)] = a("semantic", "", fmt.Sprintf("Stale number %d.", i))
		roles[fmt.Sprintf("mem/s%d", i)] = Stale
	}
	return m, m.showing(roles)
}

func write(slug string, from ...string) Op {
	return Op{Op: OpWrite, Slug: slug, Text: "The cup of Ana is cyan.", DerivedFrom: from}
}

func supersede(old, by string) Op { return Op{Op: OpSupersede, Old: old, New: by, Why: "newer"} }
func archive(slug string) Op      { return Op{Op: OpArchive, Slug: slug} }
func keep(slug string) Op         { return Op{Op: OpKeep, Slug: slug} }

// Each rule refuses all operations, by the index of the one that is wrong and in
// words that say what to do.
func TestCheckRefuses(t *testing.T) {
	long := strings.Repeat("I am an agent and I remember. ", 60)
	for name, tc := range map[string]struct {
		ops  []Op
		at   int
		says string
	}{
		"an unknown operation":         {[]Op{keep("mem/e1"), {Op: "delete", Slug: "mem/e1"}}, 1, "none of write"},
		"a long one":                   {[]Op{{Op: strings.Repeat("delete ", 9999)}}, 0, "none of write"},
		"a long slug":                  {[]Op{keep(strings.Repeat("e", 9999))}, 0, "not a slug"},
		"no slug":                      {[]Op{{Op: OpKeep}}, 0, "slug is missing"},
		"a member too many":            {[]Op{{Op: OpKeep, Slug: "mem/e1", Text: "x"}}, 0, "no text"},
		"a bad slug":                   {[]Op{keep("mem/E 1")}, 0, "not a slug"},
		"core written":                 {[]Op{write("core", "mem/e1")}, 0, "core"},
		"core derived from":            {[]Op{write("mem/x", "core")}, 0, "core"},
		"reserved":                     {[]Op{write("mem/sys/plans/p-1", "mem/e1")}, 0, "reserved"},
		"proposals":                    {[]Op{write("mem/proposals/x", "mem/e1")}, 0, "reserved"},
		"reserved linked":              {[]Op{{Op: OpLink, From: "mem/e1", To: "mem/sys/x", Relation: "supports"}}, 0, "reserved"},
		"no source":                    {[]Op{write("mem/x")}, 0, "derived_from"},
		"a source unseen":              {[]Op{write("mem/x", "mem/unshown")}, 0, "does not show mem/unshown"},
		"a source that is nowhere":     {[]Op{write("mem/x", "mem/nowhere")}, 0, "does not show"},
		"itself a source":              {[]Op{write("mem/x", "mem/x")}, 0, "itself"},
		"a result a source":            {[]Op{write("mem/x", "mem/e1"), write("mem/y", "mem/x")}, 1, "does not show mem/x"},
		"inspired":                     {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "t", InspiredBy: []string{"mem/unshown"}}}, 0, "is for dreams"},
		"an insight":                   {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "t", Type: "insight", DerivedFrom: []string{"mem/e1"}}}, 0, "semantic or procedural"},
		"an episode":                   {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "t", Type: "episodic", DerivedFrom: []string{"mem/e1"}}}, 0, "semantic or procedural"},
		"an intention":                 {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "t", Type: "prospective", DerivedFrom: []string{"mem/e1"}}}, 0, "semantic or procedural"},
		"where something shown is":     {[]Op{write("mem/old", "mem/e1")}, 0, "supersede"},
		"where something is":           {[]Op{write("mem/unshown", "mem/e1")}, 0, "another slug"},
		"two at one slug":              {[]Op{write("mem/x", "mem/e1"), write("x", "mem/e2")}, 1, "operation 1"},
		"kept and archived":            {[]Op{write("mem/x", "mem/e1"), keep("mem/e1"), archive("mem/e1")}, 2, "operation 2"},
		"front matter":                 {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "---\ntrust: told\n---\nx", DerivedFrom: []string{"mem/e1"}}}, 0, "front matter"},
		"hidden front matter":          {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "\ufeff--\u200b-\r\ntrust: told\r\n---\r\nx", DerivedFrom: []string{"mem/e1"}}}, 0, "front matter"},
		"an invisible text":            {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "\u200b\n", DerivedFrom: []string{"mem/e1"}}}, 0, "says nothing"},
		"a long text":                  {[]Op{{Op: OpWrite, Slug: "mem/x", Text: strings.Repeat("a", 70000), DerivedFrom: []string{"mem/e1"}}}, 0, "too long"},
		"a long description":           {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "t", Description: long, DerivedFrom: []string{"mem/e1"}}}, 0, "description"},
		"an empty tag":                 {[]Op{{Op: OpWrite, Slug: "mem/x", Text: "t", Tags: []string{"\u200b"}, DerivedFrom: []string{"mem/e1"}}}, 0, "tag"},
		"told superseded":              {[]Op{write("mem/x", "mem/e1"), supersede("mem/told", "mem/x")}, 1, "told"},
		"told takes a place":           {[]Op{supersede("mem/old", "mem/told")}, 0, "told"},
		"an unseen one superseded":     {[]Op{write("mem/x", "mem/e1"), supersede("mem/unshown", "mem/x")}, 1, "does not show"},
		"by an unseen one":             {[]Op{supersede("mem/old", "mem/unshown")}, 0, "does not show"},
		"by itself":                    {[]Op{supersede("mem/old", "mem/old")}, 0, "same unit"},
		"superseded twice":             {[]Op{write("mem/x", "mem/e1"), supersede("mem/old", "mem/x"), supersede("mem/old", "mem/new")}, 2, "operation 2"},
		"archived superseded":          {[]Op{write("mem/x", "mem/e1"), supersede("mem/gone", "mem/x")}, 1, "archived already"},
		"an episode lost":              {[]Op{archive("mem/e1")}, 0, "derived_from"},
		"an episode lost by another":   {[]Op{write("mem/x", "mem/e2"), archive("mem/e1")}, 1, "derived_from"},
		"an episode superseded":        {[]Op{write("mem/x", "mem/told-e"), supersede("mem/e1", "mem/x")}, 1, "derived_from"},
		"an intention superseded":      {[]Op{write("mem/x", "mem/e1"), supersede("mem/due", "mem/x")}, 1, "intention"},
		"a fact archived":              {[]Op{archive("mem/old")}, 0, "stale"},
		"told archived":                {[]Op{archive("mem/t-stale")}, 0, "told"},
		"a told episode archived":      {[]Op{write("mem/x", "mem/told-e"), archive("mem/told-e")}, 1, "told"},
		"pinned archived":              {[]Op{archive("mem/pinned")}, 0, "pinned"},
		"linked from core archived":    {[]Op{archive("mem/linked")}, 0, "core"},
		"an intention archived":        {[]Op{archive("mem/due")}, 0, "not done"},
		"archived twice":               {[]Op{archive("mem/gone")}, 0, "archived already"},
		"too many archived":            {[]Op{archive("mem/s0"), archive("mem/s1"), archive("mem/s2"), archive("mem/s3"), archive("mem/s4"), archive("mem/s5")}, 5, "5 units"},
		"an end unseen":                {[]Op{{Op: OpLink, From: "mem/e1", To: "mem/unshown", Relation: "supports"}}, 0, "does not show"},
		"a beginning unseen":           {[]Op{{Op: OpLink, From: "mem/unshown", To: "mem/e1", Relation: "supports"}}, 0, "does not show"},
		"told linked from":             {[]Op{{Op: OpLink, From: "mem/told", To: "mem/e1", Relation: "supports"}}, 0, "told"},
		"a link that supersedes":       {[]Op{{Op: OpLink, From: "mem/new", To: "mem/old", Relation: "supersedes"}}, 0, "none of the relations"},
		"a link to sources":            {[]Op{{Op: OpLink, From: "mem/new", To: "mem/e1", Relation: "derived_from"}}, 0, "none of the relations"},
		"a narrative elsewhere":        {[]Op{{Op: OpWrite, Slug: "mem/me", Type: "narrative", Text: "I am.", DerivedFrom: []string{"mem/e1"}}}, 0, "mem/narrative"},
		"something else there":         {[]Op{{Op: OpWrite, Slug: "mem/narrative", Type: "semantic", Text: "I am.", DerivedFrom: []string{"mem/e1"}}}, 0, "mem/narrative"},
		"a long narrative":             {[]Op{{Op: OpWrite, Slug: "mem/narrative", Text: long, DerivedFrom: []string{"mem/e1"}}}, 0, "1500 is the most"},
		"an external narrative":        {[]Op{{Op: OpWrite, Slug: "mem/narrative", Text: "I am.", DerivedFrom: []string{"mem/e1", "mem/ext"}}}, 0, "external"},
		"a narrative from nowhere":     {[]Op{{Op: OpWrite, Slug: "mem/narrative", Text: "I am."}}, 0, "derived_from"},
		"a good one does not save all": {[]Op{write("mem/x", "mem/e1"), keep("mem/e2"), keep("mem/unshown")}, 2, "does not show"},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := world()
			got, err := m.check(t, m.suited(t, p, tc.ops...), tc.ops...)
			var wrong *OpError
			if !errors.As(err, &wrong) || wrong.Index != tc.at || !strings.Contains(err.Error(), tc.says) || got != nil {
				t.Fatalf("%+v, %v", got, err)
			}
			if errors.Is(err, ErrChanged) || len(err.Error()) > 1000 {
				t.Errorf("nothing has changed, or %d bytes", len(err.Error()))
			}
		})
	}
}

// A result has the lowest trust of its sources, derived at most, and stamps that
// nobody chooses.
func TestTrustIsThatOfTheSources(t *testing.T) {
	for name, tc := range map[string]struct {
		from []string
		want frontmatter.Trust
	}{
		"observed":              {[]string{"mem/e1"}, frontmatter.Derived},
		"told":                  {[]string{"mem/told", "mem/told-e"}, frontmatter.Derived},
		"derived":               {[]string{"mem/e1", "mem/e2"}, frontmatter.Derived},
		"external among others": {[]string{"mem/e1", "mem/ext", "mem/told"}, frontmatter.External},
		"an external fact":      {[]string{"mem/web"}, frontmatter.External},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := world()
			p = m.suited(t, p, write("x", tc.from...))
			got, err := m.check(t, p, write("x", tc.from...))
			if err != nil || got[0].Slug != "mem/x" || got[0].Base != "" || got[0].Old != "" {
				t.Fatalf("%+v, %v", got, err)
			}
			f := frontmatter.Parse(got[0].New).Fields()
			if f.Trust != tc.want || f.Type != frontmatter.Semantic || !f.Created.Time.Equal(now) || f.Source != "mind:"+p.ID || f.Session != "s1" || len(f.Relations) != len(tc.from) {
				t.Errorf("%s", got[0].New)
			}
		})
	}
}

// Words of somebody else stay theirs, whatever a result says that it is from.
func TestCopiesOfExternalWordsAreExternal(t *testing.T) {
	const page = "The harbour boats are painted in blue every May by old sailors with brushes, ladders, ropes and linseed oil, says the page."
	for _, field := range []string{"text", "description", "tags"} {
		m := texts{"mem/e1": episode(20, "", "I read a page about boats."), "mem/page": a("semantic", "trust: external\n", page)}
		p := m.showing(map[string]Role{"mem/e1": Episode})
		op, story := write("mem/x", "mem/e1"), Op{Op: OpWrite, Slug: NarrativeSlug, Text: page, DerivedFrom: []string{"mem/e1"}}
		op.Text = page
		switch field {
		case "description":
			op.Text, op.Description = "Boats.", page
			story.Text, story.Description = "I am.", page
		case "tags":
			op.Text, op.Tags = "Boats.", strings.Fields(page)
			story.Text, story.Tags = "I am.", strings.Fields(page)
		}
		got, err := m.check(t, p, op)
		if err != nil || frontmatter.Parse(got[0].New).Trust() != frontmatter.External || !strings.Contains(got[0].Note, "mem/page") {
			t.Errorf("%s: %+v, %v", field, got, err)
		}
		if got, err := m.check(t, p, story); err == nil || !strings.Contains(err.Error(), "mem/page") {
			t.Errorf("the narrative: %+v, %v", got, err)
		}
	}
}

// What takes the place of what: ways by trust. Where sources are not good enough,
// both stay, and say so.
func TestPlacesAreTakenByWhatHolds(t *testing.T) {
	later, before := "mem/e1", "mem/before"
	for name, tc := range map[string]struct {
		old  string
		from []string // of a new unit; nil: by is there
		by   string
		want string // relation
	}{
		"observed by observed and later": {"mem/old", []string{later}, "", relSupersedes},
		"and told":                       {"mem/old", []string{"mem/told", later}, "", relSupersedes},
		"by told alone, which is older":  {"mem/old", []string{"mem/told"}, "", relContradicts},
		"by nothing later":               {"mem/old", []string{before}, "", relContradicts},
		"by something derived":           {"mem/old", []string{later, "mem/e2"}, "", relContradicts},
		"by something external":          {"mem/old", []string{later, "mem/ext"}, "", relContradicts},
		"by itself":                      {"mem/old", []string{"mem/old"}, "", relContradicts},
		"derived by observed":            {"mem/derived", []string{before}, "", relSupersedes},
		"derived by derived":             {"mem/derived", []string{"mem/e2"}, "", relSupersedes},
		"derived by external":            {"mem/derived", []string{"mem/ext"}, "", relContradicts},
		"external by derived":            {"mem/web", []string{"mem/e2"}, "", relSupersedes},
		"external by external":           {"mem/web", []string{"mem/ext"}, "", relSupersedes},
		"by a later one that is there":   {"mem/old", nil, "mem/new", relSupersedes},
		"by an older one that is there":  {"mem/new", nil, "mem/old", relContradicts},
		"by a derived one that is there": {"mem/old", nil, "mem/derived", relContradicts},
		"by somebody's that is there":    {"mem/derived", nil, "mem/web", relContradicts},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := world()
			m[before] = episode(1, "when: 2026-10-01\n", "The cup was bought.")
			p := m.showing(map[string]Role{later: Episode, before: Episode, "mem/e2": Episode, "mem/ext": Episode, "mem/told": Beside,
				"mem/old": Beside, "mem/new": Beside, "mem/derived": Beside, "mem/web": Beside})
			ops := []Op{supersede(tc.old, tc.by)}
			if tc.from != nil {
				ops = []Op{write("mem/x", tc.from...), supersede(tc.old, "mem/x")}
				tc.by = "mem/x"
			}
			p = m.suited(t, p, ops...)
			got, err := m.check(t, p, ops...)
			if err != nil {
				t.Fatal(err)
			}
			after := m.with(got)
			by, old := frontmatter.Parse(after[tc.by]), frontmatter.Parse(after[tc.old])
			edges := 0
			for _, r := range by.Fields().Relations {
				if r.Target == tc.old && r.Relation == tc.want {
					edges++
				}
			}
			state := frontmatter.Active
			if tc.want == relSupersedes {
				state = frontmatter.Superseded
			}
			if edges != 1 || old.Fields().State != state || old.Body() != frontmatter.Parse(m[tc.old]).Body() || strings.Contains(got[0].Note, "it contradicts") != (tc.want == relContradicts) {
				t.Errorf("%d edges, %+v", edges, got)
			}
			if got[0].Slug != tc.by {
				t.Errorf("%s is written before %s", got[0].Slug, tc.by)
			}
			// In one operation it is the same.
			if tc.from != nil {
				one, err := m.check(t, p, Op{Op: OpSupersede, Old: tc.old, New: "mem/x", Why: "newer", Text: ops[0].Text, DerivedFrom: tc.from})
				if err != nil || m.with(one)["mem/x"] != after["mem/x"] {
					t.Errorf("%+v, %v", one, err)
				}
			}
		})
	}
	// Nothing takes a place and loses its own.
	m, p := world()
	p = m.suited(t, p)
	got, err := m.check(t, p, supersede("mem/old", "mem/new"), Op{Op: OpSupersede, Old: "mem/new", New: "mem/derived"})
	if err != nil || frontmatter.Parse(m.with(got)["mem/new"]).Fields().State != frontmatter.Active {
		t.Errorf("%+v, %v", got, err) // mem/derived only contradicts it
	}
	m["mem/e3"] = episode(22, "", "The cup is red.")
	p = m.showing(map[string]Role{"mem/old": Beside, "mem/new": Beside, "mem/e3": Episode})
	_, err = m.check(t, p, write("mem/x", "mem/e3"), supersede("mem/old", "mem/new"), supersede("mem/new", "mem/x"))
	if err == nil || !strings.Contains(err.Error(), "operation 2") {
		t.Errorf("a chain: %v", err)
	}
}

// Whoever is superseded, archived or marked keeps words, trust, source and the rest
// byte for byte, and what adds is written first.
func TestChangesKeepWhatIsThere(t *testing.T) {
	m, p := world()
	p = m.suited(t, p)
	ops := []Op{
		archive("mem/s0"), archive("mem/e1"), keep("mem/told-e"), supersede("mem/old", "mem/x"), write("mem/x", "mem/e1"),
		{Op: OpLink, From: "mem/derived", To: "mem/e2", Relation: "supports"}, {Op: OpLink, From: "mem/derived", To: "mem/old", Relation: "supports"},
	}
	got, err := m.check(t, p, ops...)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, c := range got {
		order = append(order, fmt.Sprintf("%s %d", c.Slug, c.Op))
		if c.Base != "" && (c.Old != m[c.Slug] || c.Base != Hash(c.Old)) {
			t.Errorf("%s: %+v", c.Slug, c)
		}
	}
	const want = "mem/x 4, mem/derived 5, mem/old 3, mem/told-e 2, mem/e2 5, mem/s0 0, mem/e1 1"
	if strings.Join(order, ", ") != want {
		t.Errorf("order %s", strings.Join(order, ", "))
	}
	after := m.with(got)
	for slug, want := range map[string]string{
		"mem/old":     strings.Replace(m["mem/old"], "---\nAna", "state: superseded\n---\nAna", 1),
		"mem/s0":      strings.Replace(m["mem/s0"], "---\nStale", "state: archived\n---\nStale", 1),
		"mem/e1":      strings.Replace(m["mem/e1"], "---\nAna", "state: archived\nconsolidated: 2026-11-22T06:00:00Z\n---\nAna", 1),
		"mem/told-e":  strings.Replace(m["mem/told-e"], "---\nAna", "consolidated: 2026-11-22T06:00:00Z\n---\nAna", 1),
		"mem/derived": strings.Replace(m["mem/derived"], "---\nAna", "supports: [\"mem/e2\", \"mem/old\"]\n---\nAna", 1),
	} {
		got := strings.NewReplacer("supports: [mem/e2, mem/old]", `supports: ["mem/e2", "mem/old"]`).Replace(after[slug])
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", slug, got, want)
		}
	}
	if frontmatter.Parse(after["mem/plain"]).HasHead() || after["core"] != m["core"] {
		t.Error("what nobody named has changed")
	}
	// Keeping what is no episode changes nothing, and neither does an empty list.
	for _, ops := range [][]Op{nil, {}, {keep("mem/old")}} {
		if got, err := m.check(t, p, ops...); err != nil || len(got) != 0 {
			t.Errorf("%+v: %+v, %v", ops, got, err)
		}
	}
}

// An episode may step back for a unit that is there already and says that it is
// from it, even one that no operation names.
func TestEpisodesStandInWhatHolds(t *testing.T) {
	for state, ok := range map[string]bool{"active": true, "superseded": false} {
		m := texts{"mem/e1": episode(20, "", "The cup is cyan."), "mem/fact": a("semantic", "state: "+state+"\nderived_from: [mem/e1]\n", "Cyan.")}
		p := m.showing(map[string]Role{"mem/e1": Episode, "mem/fact": Beside})
		if got, err := m.check(t, p, archive("mem/e1")); (err == nil) != ok {
			t.Errorf("%s: %+v, %v", state, got, err)
		}
	}
}

// What changed meanwhile is a conflict, if an operation names it.
func TestChangedMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		slug, now string
		ops       []Op
		conflict  bool
	}{
		{"mem/e1", "other", []Op{keep("mem/e1")}, true},
		{"mem/e1", "", []Op{write("mem/x", "mem/e1")}, true},
		{"mem/old", "other", []Op{write("mem/x", "mem/e1"), supersede("mem/old", "mem/x")}, true},
		{"mem/old", "other", []Op{write("mem/x", "mem/e1")}, false},
		{NarrativeSlug, "I am new.", []Op{{Op: OpWrite, Slug: NarrativeSlug, Text: "I am.", DerivedFrom: []string{"mem/e1"}}}, true},
	} {
		m, p := world()
		p = m.suited(t, p)
		if m[tc.slug] = tc.now; tc.now == "" {
			delete(m, tc.slug)
		}
		got, err := m.check(t, p, tc.ops...)
		if errors.Is(err, ErrChanged) != tc.conflict || (err == nil) == tc.conflict || tc.conflict && got != nil {
			t.Errorf("%s: %+v, %v", tc.slug, got, err)
		}
	}
	m, p := world()
	p.Units[0].Hash = Hash("what was never shown")
	if _, err := m.check(t, p, keep("mem/e1")); !errors.Is(err, ErrPlan) {
		t.Errorf("a plan with another id: %v", err)
	}
	if _, err := Check(p.Identify(), []Op{keep("mem/e1")}, m.at, CheckOptions{Now: now}); err == nil {
		t.Error("without a memory to judge against")
	}
}

// The narrative is written anew at its slug, from what the agent knows itself, and
// is the only one.
func TestNarrativeIsRewritten(t *testing.T) {
	m, _ := world()
	m[NarrativeSlug] = a("narrative", "created: 2026-01-01T00:00:00Z\ndescription: My story\nderived_from: [mem/plain]\n", "I was new.")
	show := map[string]Role{"mem/e1": Episode, "mem/e2": Episode, NarrativeSlug: NarrativeRole}
	op := Op{Op: OpWrite, Slug: "narrative", Text: "I know cups.", DerivedFrom: []string{"mem/e1", NarrativeSlug}}
	got, err := m.check(t, m.showing(show), op)
	if err != nil || len(got) != 2 || got[0].Slug != NarrativeSlug || got[0].Base != Hash(m[NarrativeSlug]) {
		t.Fatalf("%+v, %v", got, err)
	}
	f := frontmatter.Parse(got[0].New).Fields()
	if f.Type != frontmatter.Narrative || f.Trust != frontmatter.Derived || f.Description != "My story" || f.Created.String() != "2026-01-01T00:00:00Z" ||
		len(f.Relations) != 1 || f.Relations[0].Target != "mem/e1" || !strings.HasSuffix(got[0].New, "---\nI know cups.") {
		t.Errorf("%s", got[0].New)
	}
	for trust, says := range map[string]string{"told": "owner", "external": "somebody else"} {
		n := m.with(nil)
		n[NarrativeSlug] = a("narrative", "trust: "+trust+"\n", "I was new.")
		if got, err := n.check(t, n.showing(show), op); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v", trust, got, err)
		}
	}
	// A second one is refused, until it is superseded by the one.
	m["mem/story"] = a("narrative", "created: 2026-01-01T00:00:00Z\n", "I was old.")
	show["mem/story"] = NarrativeRole
	if got, err := m.check(t, m.showing(show), op); err == nil || !strings.Contains(err.Error(), "mem/story") {
		t.Errorf("two narratives: %+v, %v", got, err)
	}
	op.DerivedFrom = []string{"mem/e1"}
	if got, err := m.check(t, m.showing(show), op, supersede("mem/story", NarrativeSlug)); err != nil || frontmatter.Parse(m.with(got)["mem/story"]).Fields().State != frontmatter.Superseded {
		t.Errorf("%+v, %v", got, err)
	}
	both := Op{Op: OpSupersede, Old: "mem/story", New: NarrativeSlug, Text: op.Text, DerivedFrom: op.DerivedFrom}
	if got, err := m.check(t, m.showing(show), both); err != nil || frontmatter.Parse(m.with(got)["mem/story"]).Fields().State != frontmatter.Superseded {
		t.Errorf("%+v, %v", got, err)
	}
	both.Text = strings.Repeat("I am. ", 300)
	if got, err := m.check(t, m.showing(show), both); err == nil || !strings.Contains(err.Error(), "1500") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A plan about archiving takes nothing else, and is not bound to five.
func TestArchivePlans(t *testing.T) {
	m, _ := world()
	m["mem/settled"] = a("prospective", "state: done\n", "Called Ana.")
	roles := map[string]Role{"mem/old": Beside, "mem/settled": Stale}
	for _, slug := range []string{"mem/s0", "mem/s1", "mem/s2", "mem/s3", "mem/s4", "mem/s5", "mem/plain", "mem/pinned", "mem/linked", "mem/t-stale", "mem/due", "mem/gone"} {
		roles[slug] = Stale
	}
	p := m.showing(roles)
	p.Kind = Archive
	p = p.Identify()
	all := []Op{archive("mem/settled"), archive("mem/s0"), archive("mem/s1"), archive("mem/s2"), archive("mem/s3"), archive("mem/s4"), archive("mem/s5"), keep("mem/plain")}
	if got, err := m.check(t, p, all...); err != nil || len(got) != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, op := range []Op{archive("mem/pinned"), archive("mem/linked"), archive("mem/t-stale"), archive("mem/old"), archive("mem/due"), archive("mem/gone"), write("mem/x", "mem/e1")} {
		if got, err := m.check(t, p, op); err == nil {
			t.Errorf("%+v: %+v", op, got)
		}
	}
}

// Words of which who took the operation knows that they are another's are external.
func TestKnownCopiesAreExternal(t *testing.T) {
	m, plan := world()
	plan = m.suited(t, plan)
	op := write("mem/x", "mem/e1")
	op.Copied = "the contract c-1"
	changes, err := m.check(t, plan, op)
	if err != nil || len(changes) == 0 || changes[0].Slug != "mem/x" || frontmatter.Parse(changes[0].New).Trust() != frontmatter.External || !strings.Contains(changes[0].Note, "the contract c-1") {
		t.Errorf("%+v, %v", changes, err)
	}
	op.Slug, op.Type = NarrativeSlug, string(frontmatter.Narrative)
	if _, err := m.check(t, plan, op); err == nil || !strings.Contains(err.Error(), "the contract c-1") {
		t.Error(err)
	}
}
