package relay

import (
	"errors"
	"fmt"
	"testing"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// TestRefusalOf: refusals stay what they are on their way to the edge, and of
// failures the class alone is told.
func TestRefusalOf(t *testing.T) {
	own := nip01.Refuse(nip01.PrefixInvalid, "no d tag")
	gated := gate.RefuseNobody()
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("filter 2: %w", own), "invalid: no d tag"},
		{gated, gated.Error()},
		{errGuessed, "rate-limited: " + store.GuessedText},
		{fmt.Errorf("page: %w", store.ErrTimeout), "error: the query took too long, narrow the filter"},
		{store.ErrClosed, "error: the relay is shutting down"},
		{fmt.Errorf("put: %w", store.ErrUnanswered), "error: the log of this relay's nodes does not answer: it is not known whether this was stored; send it again"},
		{errors.New("/var/lib/engramd: no space"), "error: the relay could not read or write its store"},
	} {
		if got := RefusalOf(c.err); got.Error() != c.want {
			t.Errorf("%v: %v, want %s", c.err, got, c.want)
		}
	}
}

// TestAnswerOfAFailure: a refusal within a failure of the store is the store's
// own words, and not for clients.
func TestAnswerOfAFailure(t *testing.T) {
	a := answerOf(store.Result{Outcome: store.Failed, Err: fmt.Errorf("row 7: %w", nip01.Refuse(nip01.PrefixInvalid, "of somebody else"))})
	if a.OK || a.Message() != "error: the relay could not read or write its store" {
		t.Errorf("%v %q", a.OK, a.Message())
	}
	for _, why := range []*nip01.Refusal{nil, store.WhyDuplicate, nip01.Refuse("two words", "a text")} {
		if a := answerOf(store.Result{Outcome: store.Duplicate, Why: why}); !a.OK || a.Why != why {
			t.Errorf("%v became %v %v", why, a.OK, a.Why)
		}
	}

}
