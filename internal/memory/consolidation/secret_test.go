package consolidation

import (
	"errors"
	"strings"
	"testing"

	"engramd/internal/e2e/secretcases"
	"engramd/internal/secrets"
)

// Nothing that looks like a secret comes in by a plan, in whichever words of an operation;
// what stands in a source may be said again.
func TestPlansHoldNoSecret(t *testing.T) {
	const source, told = "mem/journal/2026/11/02/e1", "mem/harbour/colour"
	token := "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b"
	refused := func(err error) bool {
		var op *OpError
		return errors.As(err, &op) && errors.As(err, new(*secrets.Error)) && !strings.Contains(err.Error(), token)
	}
	w := wrongWorld()
	p := w.suited(t, w.show(Consolidate))
	for _, c := range secretcases.All(t) {
		_, err := w.texts.check(t, p, fact("mem/made/x", "It was said: "+c.Text, source))
		if c.Kind == "" && err != nil || c.Kind != "" && !refused(err) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	for name, op := range map[string]Op{
		"description": {Op: OpWrite, Slug: "mem/made/x", Text: "It was said.", Description: token, DerivedFrom: []string{source}},
		"tag":         {Op: OpWrite, Slug: "mem/made/x", Text: "It was said.", Tags: []string{token}, DerivedFrom: []string{source}},
		"reason":      {Op: OpWrite, Slug: "mem/made/x", Text: "It was said.", Why: token, DerivedFrom: []string{source}},
		"narrative":   {Op: OpWrite, Slug: NarrativeSlug, Text: "I have " + token, DerivedFrom: []string{source, NarrativeSlug}},
		"new text":    {Op: OpSupersede, Old: told, New: "mem/made/x", Text: "Use " + token, Why: "newer", DerivedFrom: []string{source}},
	} {
		if _, err := w.texts.check(t, p, op); !refused(err) {
			t.Errorf("in the %s: %v", name, err)
		}
	}
	w.texts[source] += "It uses " + token + ".\n"
	p = w.suited(t, w.show(Consolidate))
	if _, err := w.texts.check(t, p, fact("mem/made/x", "CI uses "+token+".", source)); err != nil {
		t.Errorf("it stands in the source: %v", err)
	}
	if _, err := w.texts.check(t, p, fact("mem/made/x", "CI uses "+token+".", "mem/journal/2026/11/01/e0")); !refused(err) {
		t.Errorf("it stands in another unit: %v", err)
	}
}
