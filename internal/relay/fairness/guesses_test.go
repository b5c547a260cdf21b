package fairness_test

import (
	"testing"
	"time"

	"engramd/internal/relay/fairness"
)

func TestGuesses(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	g := fairness.NewGuesses(func() time.Time { return now })
	a, b := fairness.Who{Share: "192.0.2.1", Conn: 1}, fairness.Who{Share: "192.0.2.2", Conn: 2}
	if !g.Left(a) || !g.Take(a, 999) || !g.Left(a) || g.Take(a, 2) || g.Left(a) || g.Take(a, 1) {
		t.Error("a share has not 1,000 guesses")
	}
	if again := (fairness.Who{Share: a.Share, Conn: 9}); g.Left(again) {
		t.Error("a new connection has guesses of its own")
	}
	if !g.Left(b) || !g.Take(b, 1000) || g.Left(b) {
		t.Error("another share has not its own")
	}
	now = now.Add(time.Hour)
	if !g.Take(a, 199) || g.Take(a, 3) {
		t.Error("an hour does not bring 200")
	}
	for _, free := range []fairness.Who{{}, {Share: a.Share, Exempt: true}} {
		if !g.Left(free) || !g.Take(free, 5000) {
			t.Errorf("%+v is counted", free)
		}
	}
	var none *fairness.Guesses
	if !none.Left(a) || !none.Take(a, 9) {
		t.Error("a relay that counts nothing refuses")
	}
}

// TestGuessesOfOneNodeOfSeveral: all nodes together leave a share as many as one
// does.
func TestGuessesOfOneNodeOfSeveral(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	g := fairness.NewGuesses(func() time.Time { return now })
	g.SetPart(4)
	a := fairness.Who{Share: "192.0.2.1", Conn: 1}
	if !g.Take(a, 250) || g.Left(a) {
		t.Error("a share has not its quarter of 1,000")
	}
	if now = now.Add(time.Hour); !g.Take(a, 49) || g.Take(a, 3) {
		t.Error("an hour does not bring a quarter of 200")
	}
	g.SetPart(1)
	if g.Left(a) {
		t.Error("a share has guesses by what became of other nodes")
	}
	if now = now.Add(time.Hour); !g.Take(a, 199) || g.Take(a, 3) {
		t.Error("alone again, an hour does not bring 200")
	}
	var none *fairness.Guesses
	none.SetPart(3)
}
