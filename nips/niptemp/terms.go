package niptemp

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"
)

// Terms are who decides about a contract and when it expires, as the tags of an
// open or of an acceptance say it: what a poster offers, what a worker repeats,
// or what both have said. Keys are pubkeys in hex, "" for none.
type Terms struct {
	Arbitrator string // settles disputes, and reads the case
	Decider    string // settles disputes: the operator of a relay
	Expirer    string // signs that the contract has expired: a relay
	Order      string // signs the order of arrival: a relay
	Deadline   int64  // Unix seconds, 0 for none
}

// maxDeadline is the last second of the year 9999, which RFC 3339 can say.
const maxDeadline = 253402300799

// TermsOf reads the tags arbitrator, decider, expirer, order and deadline of a
// state event, of which an open or an acceptance may have one each. No key may be a
// party's: its author's or that of a p tag. Errors are "invalid".
func TermsOf(ev *nostr.Event) (Terms, error) {
	var t Terms
	for name, into := range map[string]*string{"arbitrator": &t.Arbitrator, "decider": &t.Decider, "expirer": &t.Expirer, "order": &t.Order} {
		value, n := findTag(ev.Tags, name)
		switch {
		case n == 0:
			continue
		case n > 1:
			return Terms{}, invalid("it may have one %s tag", name)
		case !nostr.IsValid32ByteHex(value):
			return Terms{}, invalid("its %s tag must hold 64 lower-case hex digits", name)
		case value == ev.PubKey || ev.Tags.FindWithValue("p", value) != nil:
			return Terms{}, invalid("its %s tag names a party", name)
		}
		*into = value
	}
	value, n := findTag(ev.Tags, "deadline")
	if n == 0 {
		return t, nil
	}
	at, err := strconv.ParseInt(value, 10, 64)
	if n > 1 || err != nil || at < 1 || at > maxDeadline || strconv.FormatInt(at, 10) != value {
		return Terms{}, invalid("it may have one deadline tag, a time in Unix seconds")
	}
	t.Deadline = at
	return t, nil
}

// Tags returns the tags that say the terms.
func (t Terms) Tags() nostr.Tags {
	var tags nostr.Tags
	for _, key := range [...][2]string{{"arbitrator", t.Arbitrator}, {"decider", t.Decider}, {"expirer", t.Expirer}, {"order", t.Order}} {
		if key[1] != "" {
			tags = append(tags, nostr.Tag{key[0], key[1]})
		}
	}
	if t.Deadline != 0 {
		tags = append(tags, nostr.Tag{"deadline", strconv.FormatInt(t.Deadline, 10)})
	}
	return tags
}

// Agreed returns what two sides have both said: each term by itself.
func (t Terms) Agreed(repeated Terms) Terms {
	return Terms{
		Arbitrator: same(t.Arbitrator, repeated.Arbitrator), Decider: same(t.Decider, repeated.Decider),
		Expirer: same(t.Expirer, repeated.Expirer), Order: same(t.Order, repeated.Order), Deadline: same(t.Deadline, repeated.Deadline),
	}
}

func same[T comparable](a, b T) (both T) {
	if a == b {
		both = a
	}
	return both
}

// Without leaves out the keys that are one of the two parties'.
func (t Terms) Without(poster, worker string) Terms {
	for _, key := range [...]*string{&t.Arbitrator, &t.Decider, &t.Expirer, &t.Order} {
		if *key == poster || *key == worker {
			*key = ""
		}
	}
	return t
}

// Or fills what t leaves open with what other says.
func (t Terms) Or(other Terms) Terms {
	return Terms{
		Arbitrator: cmp.Or(t.Arbitrator, other.Arbitrator), Decider: cmp.Or(t.Decider, other.Decider),
		Expirer: cmp.Or(t.Expirer, other.Expirer), Order: cmp.Or(t.Order, other.Order), Deadline: cmp.Or(t.Deadline, other.Deadline),
	}
}

// Greater returns what two opens of a poster to the same key offer together:
// of each term the greater. A poster signs one; imports bring several, in any
// order, and every relay and every reader then finds the same terms.
func (t Terms) Greater(other Terms) Terms {
	return Terms{
		Arbitrator: max(t.Arbitrator, other.Arbitrator), Decider: max(t.Decider, other.Decider),
		Expirer: max(t.Expirer, other.Expirer), Order: max(t.Order, other.Order), Deadline: max(t.Deadline, other.Deadline),
	}
}

// OrderKeys returns the keys whose word on the order of arrival counts by the
// terms: the one named for it, else those of a relay that decides or lets expire,
// which contracts from before the tag order name.
func (t Terms) OrderKeys() []string {
	keys := []string{t.Order}
	if t.Order == "" {
		keys = []string{t.Decider, t.Expirer}
	}
	return slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == "" })
}

// Keys returns the keys of those who decide, each once.
func (t Terms) Keys() []string {
	var keys []string
	for _, key := range [...]string{t.Arbitrator, t.Decider, t.Expirer} {
		if key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
