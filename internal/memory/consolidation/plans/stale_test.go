package plans

import (
	"errors"
	"testing"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
)

// TestJudgedByWhatIsThere: what a judgement rests on is asked of the relays, though
// no operation names it: the local copy may be behind.
func TestJudgedByWhatIsThere(t *testing.T) {
	const deriving = "mem/facts/hour"
	for name, c := range map[string]struct {
		slug, text string // what another machine wrote meanwhile
		fail       error  // what reading it gives
		refused    bool
	}{
		"nothing changed":         {},
		"core links to it":        {slug: "core", text: "I work on Atlas: [[mem/journal/e3]].", refused: true},
		"core is behind a relay":  {slug: "core", text: "I work on Atlas.", fail: client.ErrPartial, refused: true},
		"core cannot be read":     {slug: "core", text: "I work on Atlas.", fail: client.ErrUnreadable, refused: true},
		"what it is in gave way":  {slug: deriving, text: a("state: superseded\nderived_from: [mem/journal/e3]\n", "The move took an hour, I think."), refused: true},
		"what it is in is broken": {slug: deriving, text: "?", fail: client.ErrUnreadable, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := memory()
			before[deriving] = a("derived_from: [mem/journal/e3]\n", "The move took an hour, I think.")
			r := newRelay(before)
			p, d := newMachine(t, "one", r).start()
			behind, err := r.source()
			must(t, err)
			p.Source = behind
			plan := planOf(consolidation.Consolidate, before, map[string]consolidation.Role{"mem/journal/e3": consolidation.Episode, deriving: consolidation.Beside})
			must(t, p.Keep(t.Context(), plan))
			if c.slug != "" {
				r.set(c.slug, c.text)
			}
			d.deny = func(what string) error {
				if c.fail != nil && what == "get "+c.slug {
					return c.fail
				}
				return nil
			}
			n := r.n
			_, err = p.Commit(t.Context(), plan.ID, []consolidation.Op{{Op: consolidation.OpArchive, Slug: "mem/journal/e3", Why: "said elsewhere"}})
			if (err != nil) != c.refused || c.refused && r.n != n {
				t.Errorf("%v, and %d writes", err, r.n-n)
			}
			if c.fail != nil && c.slug == "core" && !errors.Is(err, c.fail) {
				t.Errorf("%v, want %v", err, c.fail)
			}
		})
	}
}
