package niptemp

import (
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

var (
	arbitratorKey = strings.Repeat("a", 63) + "1"
	deciderKey    = strings.Repeat("a", 63) + "2"
	expirerKey    = strings.Repeat("a", 63) + "3"
	agreedTerms   = Terms{Arbitrator: arbitratorKey, Decider: deciderKey, Expirer: expirerKey, Deadline: 2000}
)

// decisionEvent names further keys in p tags, besides the first.
func decisionEvent(author string, previous, status Status, at int64, keys ...string) *nostr.Event {
	ev := stateEvent(author, keys[0], previous, status, at)
	for _, key := range keys[1:] {
		ev.Tags = append(ev.Tags, nostr.Tag{"p", key})
	}
	return ev
}

// Every decision by every key from every status: only what the parties agreed
// on holds.
func TestDecideAllowsWhoWasAgreed(t *testing.T) {
	signers := []string{posterKey, workerKey, strangerKey, arbitratorKey, deciderKey, expirerKey}
	for _, from := range Statuses() {
		for _, previous := range Statuses() {
			for _, to := range Statuses() {
				for _, author := range signers {
					for _, at := range []int64{939, 940, 1999, 2000} {
						ev := decisionEvent(author, previous, to, at, posterKey, workerKey)
						d, shaped := DecisionOf(ev)
						party := author == posterKey || author == workerKey
						wantShape := !party && (previous == Disputed && (to == Completed || to == Cancelled) || previous == Accepted && to == Expired)
						if shaped != wantShape || shaped != (CheckStateShape(ev) == nil) {
							t.Fatalf("%s→%s by %s: shape %v", previous, to, author[60:], shaped)
						}
						if !shaped {
							continue
						}
						state := stateIn(from)
						next, err := state.Decide(agreedTerms, d)
						want := previous == from && at >= 940 && (to != Expired && (author == arbitratorKey || author == deciderKey) ||
							to == Expired && author == expirerKey && at >= 2000)
						if (err == nil) != want {
							t.Errorf("%s, said %s→%s by %s at %d: %v", from, previous, to, author[60:], at, err)
						}
						if err != nil {
							checkRefusal(t, err, "invalid", "")
						} else if next != (State{contract, posterKey, workerKey, to, at, ev.ID}) {
							t.Errorf("it led to %+v", next)
						}
						if _, err := state.Decide(Terms{}, d); err == nil {
							t.Errorf("%s→%s by %s without any terms", previous, to, author[60:])
						}
						if _, err := Next(state, ev); err == nil {
							t.Error("it passed for a party's move")
						}
					}
				}
			}
		}
	}
}

func TestDecideJudgesWhatIsNamed(t *testing.T) {
	good := func() *nostr.Event {
		return decisionEvent(arbitratorKey, Disputed, Completed, 1001, posterKey, workerKey)
	}
	d, ok := DecisionOf(good())
	if !ok {
		t.Fatal("no decision")
	}
	if _, err := (*State)(nil).Decide(agreedTerms, d); err == nil {
		t.Error("it decided what is not known")
	}
	swapped := d
	swapped.Poster, swapped.Worker = d.Worker, d.Poster
	other := d
	other.Contract = "other"
	for name, d := range map[string]Decision{"order": swapped, "contract": other} {
		if _, err := stateIn(Disputed).Decide(agreedTerms, d); err == nil {
			t.Errorf("another %s was taken", name)
		}
	}
	for name, tags := range map[string]nostr.Tags{
		"three p":        {{"d", contract}, {"p", posterKey}, {"p", workerKey}, {"p", strangerKey}},
		"the same twice": {{"d", contract}, {"p", posterKey}, {"p", posterKey}},
		"none":           {{"d", contract}},
		"an upper-case":  {{"d", contract}, {"p", posterKey}, {"p", strings.ToUpper(arbitratorKey)}},
	} {
		ev := good()
		ev.Tags = tags
		if _, ok := DecisionOf(ev); ok || CheckStateShape(ev) == nil {
			t.Errorf("%s p tags make a decision", name)
		}
	}
}

// An offer expires by its own tags, with one p tag.
func TestDecideExpiresAnOffer(t *testing.T) {
	offer := &State{Contract: contract, Poster: posterKey, Status: Open, CreatedAt: 1000}
	ev := decisionEvent(expirerKey, Open, Expired, 2000, posterKey)
	d, ok := DecisionOf(ev)
	if !ok || d.Worker != "" || d.Poster != posterKey {
		t.Fatalf("%+v, %v", d, ok)
	}
	for _, s := range []*State{offer, stateIn(Open)} {
		if next, err := s.Decide(agreedTerms, d); err != nil || next.Status != Expired || next.Worker != s.Worker {
			t.Errorf("%+v, %v", next, err)
		}
	}
	for name, s := range map[string]*State{"accepted": stateIn(Accepted), "another's": {Contract: contract, Poster: strangerKey, Status: Open}} {
		if _, err := s.Decide(agreedTerms, d); err == nil {
			t.Errorf("%s expired by it", name)
		}
	}
	if _, ok := DecisionOf(decisionEvent(posterKey, Open, Expired, 2000, posterKey)); ok {
		t.Error("a poster expired his own offer")
	}
}

func TestTermsOf(t *testing.T) {
	ev := func(tags ...nostr.Tag) *nostr.Event {
		ev := stateEvent(posterKey, workerKey, "", Open, 1)
		ev.Tags = append(ev.Tags, tags...)
		return ev
	}
	got, err := TermsOf(ev(agreedTerms.Tags()...))
	if err != nil || got != agreedTerms {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := TermsOf(ev()); err != nil || got != (Terms{}) || got.Tags() != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for name, tags := range map[string][]nostr.Tag{
		"a party":          {{"arbitrator", posterKey}},
		"the other party":  {{"decider", workerKey}},
		"no key":           {{"expirer", "relay"}},
		"no value":         {{"expirer"}},
		"two":              {{"arbitrator", arbitratorKey}, {"arbitrator", deciderKey}},
		"two deadlines":    {{"deadline", "5"}, {"deadline", "5"}},
		"zero":             {{"deadline", "0"}},
		"a leading zero":   {{"deadline", "05"}},
		"a sign":           {{"deadline", "+5"}},
		"a date":           {{"deadline", "2026-01-01T00:00:00Z"}},
		"after year 9999":  {{"deadline", "253402300800"}},
		"more than 64 bit": {{"deadline", "99999999999999999999"}},
	} {
		if _, err := TermsOf(ev(tags...)); err == nil || CheckStateShape(ev(tags...)) == nil {
			t.Errorf("%s: taken", name)
		}
	}
	moved := stateEvent(posterKey, workerKey, Submitted, Completed, 1)
	moved.Tags = append(moved.Tags, nostr.Tag{"deadline", "soon"})
	if err := CheckStateShape(moved); err != nil {
		t.Errorf("tags that mean nothing on other moves: %v", err)
	}
}

func TestTermsAgree(t *testing.T) {
	half := Terms{Arbitrator: arbitratorKey, Decider: strangerKey, Deadline: 1}
	if got := agreedTerms.Agreed(half); got != (Terms{Arbitrator: arbitratorKey}) {
		t.Errorf("%+v", got)
	}
	if got := agreedTerms.Agreed(Terms{}); got != (Terms{}) {
		t.Errorf("%+v", got)
	}
	x, y := Terms{Decider: deciderKey, Deadline: 1}, Terms{Arbitrator: arbitratorKey, Deadline: 3}
	if got := x.Greater(y); got != y.Greater(x) || got != (Terms{Arbitrator: arbitratorKey, Decider: deciderKey, Deadline: 3}) {
		t.Errorf("together they offer %+v", got)
	}
	one := Terms{Arbitrator: deciderKey, Decider: deciderKey, Expirer: expirerKey}
	if got := one.Keys(); !slices.Equal(got, []string{deciderKey, expirerKey}) {
		t.Errorf("%v", got)
	}
	if got := agreedTerms.Without(deciderKey, expirerKey); got != (Terms{Arbitrator: arbitratorKey, Deadline: 2000}) {
		t.Errorf("%+v", got)
	}
}

func FuzzDecisionOf(f *testing.F) {
	f.Add(`{"contract_id":"c","status":"completed","previous_status":"disputed"}`, posterKey, workerKey, "arbitrator", "5")
	f.Add(`{"contract_id":"c","status":"open"}`, posterKey, "", "deadline", "5")
	f.Fuzz(func(t *testing.T, content, first, second, tag, value string) {
		ev := &nostr.Event{Kind: KindState, PubKey: arbitratorKey, CreatedAt: 1, Content: content,
			Tags: nostr.Tags{{"d", "c"}, {"p", first}, {tag, value}}}
		if second != "" {
			ev.Tags = append(ev.Tags, nostr.Tag{"p", second})
		}
		d, ok := DecisionOf(ev)
		if ok && CheckStateShape(ev) != nil {
			t.Fatal("a decision of no shape")
		}
		if ok && d.Worker != "" && (d.Worker == d.Poster || d.Author == d.Worker) {
			t.Fatal("a party decides")
		}
		if terms, err := TermsOf(ev); err == nil {
			if again, err := TermsOf(&nostr.Event{Kind: KindState, PubKey: arbitratorKey, Tags: terms.Tags()}); err != nil || again != terms {
				t.Fatal("terms do not survive their tags")
			}
		}
	})
}
