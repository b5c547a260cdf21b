package store_test

import (
	"testing"

	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// TestAnswers: clients know these texts, so no byte of them may change.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		why  *nip01.Refusal
		text string
	}{
		{nil, ""},
		{store.WhyDuplicate, "duplicate: already have this event"},
		{store.WhyDeleted, "blocked: deleted by its author"},
		{store.WhyStale, "duplicate: a newer version is stored"},
		{store.WhyConflict, "conflict: another version is the head"},
		{store.WhyBanned, "blocked: the operator of this relay has banned this event"},
		{store.WhyRemoved, "blocked: the operator of this relay has removed this superseded version or a newer one"},
		{store.WhyExpired, "blocked: a newer version was stored, and has expired"},
		{store.WhyRolledBack, "blocked: removed by the operator"},
		{store.WhyTaken, "blocked: this contract id is taken"},
	} {
		if got := (store.Result{Why: c.why}).Message(); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
	}
}
