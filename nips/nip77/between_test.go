package nip77

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// between lets two sets answer one another, and returns what only each of them
// has, the messages and their bytes.
func between(t testing.TB, a, b *Set, limitA, limitB int) (onlyA, onlyB [][32]byte, rounds, size int) {
	t.Helper()
	m := NewBetween()
	sides, limits := [2]*Set{a, b}, [2]int{limitA, limitB}
	var only [2][][32]byte
	for msg := m.Open(); msg != nil; rounds++ {
		if rounds > 10_000 {
			t.Fatal("it comes to no end")
		}
		now := rounds % 2
		answer, err := sides[now].Reply(msg, limits[now])
		if err != nil {
			t.Fatal(err)
		}
		size += len(msg) + len(answer)
		var mine, others [][32]byte
		if msg, mine, others, err = m.Next(answer); err != nil {
			t.Fatal(err)
		}
		only[now] = append(only[now], mine...)
		only[1-now] = append(only[1-now], others...)
	}
	return only[0], only[1], rounds, size
}

func TestBetweenFindsWhatDiffers(t *testing.T) {
	random := rand.New(rand.NewPCG(77, 1))
	for i := range 300 {
		n := random.IntN([]int{2, 40, 1000, 20_000}[i%4])
		a, b, wantA, wantB := pair(t, random, n)
		limits := []int{MinLimit, 30_000, 1 << 20}
		gotA, gotB, _, _ := between(t, a, b, limits[random.IntN(3)], limits[random.IntN(3)])
		same(t, "only in the one", gotA, wantA)
		same(t, "only in the other", gotB, wantB)
	}
}

// A hundred of many cost little: the ids of both sides would be 64 bytes each.
func TestBetweenIsCheap(t *testing.T) {
	var as, bs []Item
	for i := range 100_000 {
		switch i % 2000 {
		case 7:
			as = append(as, item(i))
		case 1007:
			bs = append(bs, item(i))
		default:
			as, bs = append(as, item(i)), append(bs, item(i))
		}
	}
	a, b, rounds, size := between(t, set(t, as), set(t, bs), 30_000, 30_000)
	if len(a) != 50 || len(b) != 50 || rounds > 40 || size > 400_000 {
		t.Errorf("%d and %d ids in %d messages of %d bytes", len(a), len(b), rounds, size)
	}
}

func TestBetweenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		msg  []byte
		want error
	}{
		{"nothing", nil, ErrMessage},
		{"another version", []byte{0x62}, ErrVersion},
		{"what no set has", []byte{Version}, ErrMessage},
		{"a list longer than the message", []byte{Version, 0, 0, 2, 0xff, 0x7f}, ErrMessage},
		{"half a fingerprint", []byte{Version, 0, 0, 1, 1, 2, 3}, ErrMessage},
		{"an unknown mode", []byte{Version, 0, 0, 3}, ErrMessage},
	} {
		if _, _, _, err := NewBetween().Next(tt.msg); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func FuzzBetween(f *testing.F) {
	f.Add([]byte{Version, 0, 0, 2, 0}, []byte{Version})
	f.Fuzz(func(t *testing.T, first, second []byte) {
		m := NewBetween()
		if pass, _, _, err := m.Next(first); err == nil && len(pass) > len(first)+2 {
			t.Errorf("%d bytes are passed on of %d", len(pass), len(first))
		}
		_, _, _, _ = m.Next(second)
	})
}
