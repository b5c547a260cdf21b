package contract

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
	"engramd/nips/niptemp"
)

// Several opens to one worker offer the greater of each term, as the relay's
// store has it, and what was agreed first stays.
func TestTermsOfSeveralOpens(t *testing.T) {
	poster, worker := testkeys.New("poster"), testkeys.New("worker")
	judge, other := testkeys.New("judge").Pub, testkeys.New("other").Pub
	move := func(by, to testkeys.Key, at int64, content string, terms niptemp.Terms) *nostr.Event {
		ev := &nostr.Event{Kind: niptemp.KindState, CreatedAt: nostr.Timestamp(at), Content: content,
			Tags: append(nostr.Tags{{"d", "c"}, {"p", to.Pub}}, terms.Tags()...)}
		if err := ev.Sign(by.Secret); err != nil {
			t.Fatal(err)
		}
		return ev
	}
	const open, accepted = `{"contract_id":"c","status":"open"}`, `{"contract_id":"c","status":"accepted","previous_status":"open"}`
	older, newer := niptemp.Terms{Arbitrator: judge, Deadline: 90}, niptemp.Terms{Arbitrator: other, Deadline: 30}
	moves := []*nostr.Event{
		move(poster, worker, 1, open, older), move(poster, worker, 2, open, newer), move(poster, poster, 3, open, niptemp.Terms{Deadline: 200, Decider: other}),
		move(worker, poster, 4, accepted, older), move(worker, poster, 5, accepted, newer),
	}
	want := older.Greater(newer)
	want.Decider = other
	for range 2 {
		offered, agreed := termsOf(moves, poster.Pub, worker.Pub)
		if offered != want || agreed != older {
			t.Errorf("they offer %+v and agree on %+v", offered, agreed)
		}
		for i, j := 0, len(moves)-1; i < j; i, j = i+1, j-1 {
			moves[i], moves[j] = moves[j], moves[i]
		}
	}
}
