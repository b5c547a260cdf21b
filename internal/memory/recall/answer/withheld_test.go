package answer

import (
	"reflect"
	"testing"

	"engramd/nips/frontmatter"
)

// TestWithheld: what would be told, were it not somebody else's, of another project or
// superseded, is named with why; what is told, and what does not bear on the question, is
// not.
func TestWithheld(t *testing.T) {
	const boats = "Ana paints the boats in spring, before the regatta."
	v := over(t, State{AsOf: now}, map[string]string{
		"mem/boats":               boats,
		"mem/eve":                 "---\ntrust: external\n---\nThe kettle of the harbour boils at noon by rule seven.",
		"mem/projects/x-org/oven": "The oven of the bakery is heated with beech at four.",
		"mem/old":                 "---\nstate: superseded\n---\nThe ferry to the island leaves pier nine at dawn.",
		"mem/birds":               "Storks nest on the chimney from March on.",
	})
	for question, want := range map[string][]Left{
		"When does Ana paint the boats?":                           nil,
		"When does the kettle of the harbour boil, by rule seven?": {{"mem/eve", "external"}},
		"With what is the oven of the bakery heated at four?":      {{"mem/projects/x-org/oven", "other project"}},
		"From which pier does the ferry to the island leave?":      {{"mem/old", "stale"}},
		"What is the capital of France?":                           nil,
	} {
		got, err := Withheld(v, Query{Text: question, MinTrust: frontmatter.Derived.String(), Holds: true, Scope: Scope{Told: true}}, now)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", question, got, err, want)
		}
	}
}
