package nip77

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// item is the n-th of a row of items that have about four to a second.
func item(n int) Item {
	return Item{CreatedAt: 1_700_000_000 + int64(n/4), ID: sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(n)))}
}

// pair is two sets of about n items, and what only one of them has. Most of what
// differs lies in a few stretches.
func pair(t testing.TB, random *rand.Rand, n int) (a, b *Set, onlyA, onlyB [][32]byte) {
	t.Helper()
	var as, bs []Item
	differ := random.IntN(3)
	for i, left, fate := 0, 0, 0; i < n; i++ {
		if left--; left < 0 {
			left, fate = random.IntN(1+n/4), random.IntN(8)
		}
		it := item(i)
		switch {
		case differ > 0 && fate == 1, differ > 1 && random.IntN(1000) == 0:
			as, onlyA = append(as, it), append(onlyA, it.ID)
		case differ > 0 && fate == 2, differ > 1 && random.IntN(1000) == 0:
			bs, onlyB = append(bs, it), append(onlyB, it.ID)
		default:
			as, bs = append(as, it), append(bs, it)
		}
	}
	random.Shuffle(len(as), func(i, j int) { as[i], as[j] = as[j], as[i] })
	return set(t, as), set(t, bs), onlyA, onlyB
}

func set(t testing.TB, items []Item) *Set {
	t.Helper()
	s, err := NewSet(items)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same fails unless both are the same ids, without one twice.
func same(t testing.TB, what string, got, want [][32]byte) {
	t.Helper()
	order := func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }
	got, want = slices.Clone(got), slices.Clone(want)
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %d ids, want %d, or others", what, len(got), len(want))
	}
}

// talk lets an initiator ask until it is done.
func talk(t testing.TB, i *Initiator, answer func([]byte) []byte) (have, need [][32]byte, messages int) {
	t.Helper()
	for msg := i.Open(); msg != nil; messages++ {
		if messages > 10_000 {
			t.Fatal("they never get done")
		}
		if len(msg) > i.limit {
			t.Fatalf("a question of %d bytes, over %d", len(msg), i.limit)
		}
		next, h, n, err := i.Next(answer(msg))
		if err != nil {
			t.Fatal(err)
		}
		msg, have, need = next, append(have, h...), append(need, n...)
	}
	return have, need, messages
}

func TestTwoSetsAreToldApart(t *testing.T) {
	for _, size := range []int{0, 1, 2, 31, 32, 33, 64, 500, 5_000, 100_000} {
		for _, limit := range []int{MinLimit, 30_000, 1 << 20} {
			t.Run(fmt.Sprintf("%d items, %d bytes", size, limit), func(t *testing.T) {
				random := rand.New(rand.NewPCG(uint64(size), uint64(limit)))
				for range max(1, min(20, 20_000/(size+1))) {
					a, b, onlyA, onlyB := pair(t, random, size)
					have, need, _ := talk(t, NewInitiator(a, limit), func(msg []byte) []byte {
						reply, err := b.Reply(msg, limit)
						if err != nil || len(reply) > limit {
							t.Fatalf("%d bytes, %v", len(reply), err)
						}
						return reply
					})
					same(t, "have", have, onlyA)
					same(t, "need", need, onlyB)
				}
			})
		}
	}
}

// TestOneAgainstNothing: the worst case of a full answer, and the one that a first
// sync is.
func TestOneAgainstNothing(t *testing.T) {
	items := make([]Item, 20_000)
	want := make([][32]byte, len(items))
	for i := range items {
		items[i] = item(i)
		want[i] = items[i].ID
	}
	full, empty := set(t, items), set(t, nil)
	reply := func(s *Set) func([]byte) []byte {
		return func(msg []byte) []byte {
			out, err := s.Reply(msg, 30_000)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	have, need, _ := talk(t, NewInitiator(full, 30_000), reply(empty))
	same(t, "have", have, want)
	same(t, "need", need, nil)
	have, need, messages := talk(t, NewInitiator(empty, 30_000), reply(full))
	same(t, "have", have, nil)
	same(t, "need", need, want)
	if least := len(items) * idSize / 30_000; messages > 2*least {
		t.Errorf("%d messages for %d ids", messages, len(items))
	}
}

func TestASetIsSortedAndHasNothingTwice(t *testing.T) {
	s := set(t, []Item{item(9), item(1), item(9), item(5), item(1)})
	if want := []Item{item(1), item(5), item(9)}; !slices.Equal(s.items, want) || s.Len() != 3 {
		t.Errorf("%v", s.items)
	}
	for _, at := range []int64{-1, math.MinInt64, math.MaxInt64} {
		if _, err := NewSet([]Item{{CreatedAt: at}}); !errors.Is(err, ErrTime) {
			t.Errorf("%d: %v", at, err)
		}
	}
}

// TestIDsThatShareTheirBeginning: bounds of up to 32 bytes of an id.
func TestIDsThatShareTheirBeginning(t *testing.T) {
	var items []Item
	var want [][32]byte
	for i := range 3000 {
		it := item(i)
		it.CreatedAt = 5
		copy(it.ID[:], make([]byte, 30-i%3))
		items = append(items, it)
	}
	all := set(t, items)
	var some []Item
	for i, it := range all.items {
		if i%7 == 0 {
			want = append(want, it.ID)
		} else {
			some = append(some, it)
		}
	}
	_, need, _ := talk(t, NewInitiator(set(t, some), MinLimit), func(msg []byte) []byte {
		out, err := all.Reply(msg, MinLimit)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	same(t, "need", need, want)
}

// TestTheLastTimesThereAre: bounds between items just below infinity.
func TestTheLastTimesThereAre(t *testing.T) {
	var items []Item
	for i := range 100 {
		items = append(items, Item{CreatedAt: math.MaxInt64 - 1 - int64(i/3), ID: item(i).ID})
	}
	some := set(t, slices.Clone(items[:60]))
	all := set(t, items)
	have, need, _ := talk(t, NewInitiator(some, MinLimit), func(msg []byte) []byte {
		out, err := all.Reply(msg, MinLimit)
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
	if len(have) != 0 || len(need) != 40 {
		t.Errorf("have %d, need %d", len(have), len(need))
	}
}

func TestFingerprintsAreThoseOfAllItems(t *testing.T) {
	var items []Item
	for i := range 1000 {
		items = append(items, item(i))
	}
	s := set(t, items)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		lower := random.IntN(len(items) + 1)
		upper := lower + random.IntN(len(items)-lower+1)
		plain := set(t, slices.Clone(s.items[lower:upper]))
		var total sum
		for i := range plain.items {
			total.add(&plain.items[i].ID)
		}
		difference := s.upTo(upper)
		difference.sub(s.upTo(lower))
		if difference != total {
			t.Fatalf("the sum from %d to %d is another", lower, upper)
		}
		if s.fingerprint(lower, upper) != plain.fingerprint(0, upper-lower) {
			t.Fatalf("the fingerprint from %d to %d is another", lower, upper)
		}
	}
}
