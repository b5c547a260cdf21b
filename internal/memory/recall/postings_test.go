package recall

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// TestPostingsOnDemand: an index that was decoded answers as the one that was encoded,
// and unpacks the postings of the question's words alone.
func TestPostingsOnDemand(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	x := indexOf(t)
	for range 300 {
		if err := x.Put(random(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Put(memory("mem/boats", "Ana paints the quarterdeck in spring")); err != nil {
		t.Fatal(err)
	}
	y, err := Decode(x.Encode())
	if err != nil {
		t.Fatal(err)
	}
	packed := func() (n int) {
		for i := range y.packed {
			if y.packed[i].open.Load() == nil {
				n++
			}
		}
		return n
	}
	all := packed()
	if all != len(x.terms) {
		t.Fatalf("%d of %d terms are packed", all, len(x.terms))
	}
	q := Query{Text: "Who paints the quarterdeck?", Now: now}
	if got, want := y.Rank(q, Recipe(), 10), x.Rank(q, Recipe(), 10); !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, want %+v", got, want)
	}
	if left := packed(); all-left > 4 {
		t.Errorf("a question of three words unpacked %d of %d terms", all-left, all)
	}
	for term, id := range x.terms {
		if got, n := y.postings(y.terms[term]), y.number(y.terms[term]); !reflect.DeepEqual(got, x.postings(id)) || n != len(got) {
			t.Errorf("%q has %v (%d), want %v", term, got, n, x.postings(id))
		}
	}
	if again := y.Encode(); !reflect.DeepEqual(again, x.Encode()) {
		t.Error("what was unpacked is encoded in another way")
	}
	y, err = Decode(x.Encode()) // of which nothing is unpacked when its sections are numbered anew
	if err != nil {
		t.Fatal(err)
	}
	for i, doc := range slices.Clone(x.docs) {
		if i%7 < 5 {
			x.Remove(doc.slug)
			y.Remove(doc.slug)
		}
	}
	if again := y.Encode(); !reflect.DeepEqual(again, x.Encode()) {
		t.Error("what is left of it is encoded in another way")
	}
}

// TestUnpackHostile: what is no list of postings ends where it is none.
func TestUnpackHostile(t *testing.T) {
	for name, p := range map[string]string{
		"nothing":                  "",
		"a number that is cut":     "\xff",
		"more than there are":      "\x7f\x00\x01",
		"a section that is none":   "\x01\x09\x01",
		"the same section twice":   "\x02\x01\x01\x00\x01",
		"never there":              "\x01\x01\x00",
		"more often than is known": "\x01\x01\xff\x7f",
		"a number beyond memory":   "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"a number beyond 64 bits":  "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01",
	} {
		if got := unpack(p, 4); len(got) > 1 || len(got) == 1 && (got[0].section() > 3 || got[0]&maxCount == 0) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
