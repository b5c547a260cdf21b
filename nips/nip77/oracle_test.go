package nip77

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip77/negentropy"
	"github.com/nbd-wtf/go-nostr/nip77/negentropy/storage/vector"
)

// theirs is another implementation over the same items.
func theirs(s *Set, limit int) *negentropy.Negentropy {
	v := vector.New()
	for _, it := range s.items {
		v.Insert(nostr.Timestamp(it.CreatedAt), hex.EncodeToString(it.ID[:]))
	}
	v.Seal()
	return negentropy.New(v, limit)
}

// gathered are the ids that came, each once: that side tells some of them twice.
type gathered struct {
	seen map[string]bool
	ids  [][32]byte
}

// take reads what is there.
func (g *gathered) take(t testing.TB, from <-chan string) {
	if g.seen == nil {
		g.seen = map[string]bool{}
	}
	for {
		select {
		case id, open := <-from:
			if !open {
				return
			}
			if !g.seen[id] {
				g.seen[id] = true
				g.ids = append(g.ids, [32]byte(unhex(t, id)))
			}
		default:
			return
		}
	}
}

// askedByThem lets the other implementation ask us.
func askedByThem(t testing.TB, a, b *Set, theirLimit, ourLimit int) (have, need [][32]byte) {
	t.Helper()
	client := theirs(a, theirLimit)
	// Room for what one message can tell: all that they have, and the ids in it.
	room := len(a.items) + ourLimit/idSize
	client.Haves, client.HaveNots = make(chan string, room), make(chan string, room)
	var haves, needs gathered
	for msg, n := client.Start(), 0; msg != ""; n++ {
		reply, err := b.Reply(unhex(t, msg), ourLimit)
		if err != nil {
			t.Fatal(err)
		}
		if n > 10_000 || len(reply) > ourLimit {
			t.Fatalf("message %d has %d bytes", n, len(reply))
		}
		if msg, err = client.Reconcile(hex.EncodeToString(reply)); err != nil {
			t.Fatal(err)
		}
		haves.take(t, client.Haves)
		needs.take(t, client.HaveNots)
	}
	return haves.ids, needs.ids
}

// askingThem asks the other implementation.
func askingThem(t testing.TB, a, b *Set, ourLimit int) (have, need [][32]byte) {
	t.Helper()
	server := theirs(b, 0)
	have, need, _ = talk(t, NewInitiator(a, ourLimit), func(msg []byte) []byte {
		reply, err := server.Reconcile(hex.EncodeToString(msg))
		if err != nil {
			t.Fatal(err)
		}
		return unhex(t, reply)
	})
	return have, need
}

func TestOthersAreTold(t *testing.T) {
	for _, size := range []int{0, 1, 31, 32, 700, 9_000, 60_000} {
		random := rand.New(rand.NewPCG(77, uint64(size)))
		for range max(1, min(10, 10_000/(size+1))) {
			a, b, onlyA, onlyB := pair(t, random, size)
			have, need := askedByThem(t, a, b, 0, 30_000)
			same(t, "have", have, onlyA)
			same(t, "need", need, onlyB)
			have, need = askingThem(t, a, b, 30_000)
			same(t, "have", have, onlyA)
			same(t, "need", need, onlyB)
		}
	}
}

// FuzzAgainstOthers: both ways, over sets that the fuzzer chooses, the other
// implementation and this one come to the same.
func FuzzAgainstOthers(f *testing.F) {
	f.Add(uint64(1), uint16(10), uint16(3), uint16(0))
	f.Add(uint64(2), uint16(3000), uint16(500), uint16(9000))
	f.Fuzz(func(t *testing.T, seed uint64, size, seconds, more uint16) {
		random := rand.New(rand.NewPCG(seed, 0))
		var as, bs []Item
		var onlyA, onlyB [][32]byte
		for i := range int(size) % 4000 {
			it := Item{CreatedAt: random.Int64N(int64(seconds) + 1), ID: item(i).ID}
			if seed%3 == 0 { // ids that share their first bytes; of more than 16 the other side makes bounds that go back
				copy(it.ID[:], make([]byte, random.IntN(16)))
			}
			switch random.IntN(20) {
			case 0:
				as, onlyA = append(as, it), append(onlyA, it.ID)
			case 1:
				bs, onlyB = append(bs, it), append(onlyB, it.ID)
			default:
				as, bs = append(as, it), append(bs, it)
			}
		}
		a, b, limit := set(t, as), set(t, slices.Clone(bs)), MinLimit+int(more)
		have, need := askedByThem(t, a, b, 0, limit)
		same(t, "have", have, onlyA)
		same(t, "need", need, onlyB)
		have, need = askingThem(t, a, b, limit)
		same(t, "have", have, onlyA)
		same(t, "need", need, onlyB)
	})
}

// FuzzMessage: whatever comes, nothing panics, the answer keeps to the limit, and
// an answer is a message that its reader takes.
func FuzzMessage(f *testing.F) {
	for _, c := range bads {
		f.Add(unhex(f, c.msg), uint16(0))
	}
	var items []Item
	for i := range 1000 {
		items = append(items, item(i))
	}
	s := set(f, items)
	f.Add(NewInitiator(set(f, slices.Clone(items[:700])), MinLimit).Open(), uint16(100))
	f.Add(emptyLists(40_000, ""), uint16(0))
	f.Fuzz(func(t *testing.T, msg []byte, more uint16) {
		limit := MinLimit + int(more)
		reply, err := s.Reply(msg, limit)
		if err == nil {
			if len(reply) > limit {
				t.Fatalf("%d bytes, over %d", len(reply), limit)
			}
			if _, _, _, err := NewInitiator(s, limit).Next(reply); err != nil {
				t.Fatalf("an answer that is none: %v", err)
			}
		}
		next, have, need, err := NewInitiator(s, limit).Next(msg)
		if len(next) > limit || err == nil && len(have)+len(need) > s.Len()+len(msg)/idSize {
			t.Fatalf("%d bytes, %d and %d ids", len(next), len(have), len(need))
		}
	})
}
