package recall

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// memory makes a document of a text with front matter.
func memory(slug, text string) Document {
	return Of(slug, frontmatter.Parse(text), now.AddDate(0, 0, -10))
}

func indexOf(t testing.TB, docs ...Document) *Index {
	t.Helper()
	x := New()
	for _, d := range docs {
		if err := x.Put(d); err != nil {
			t.Fatal(d.Slug, err)
		}
	}
	return x
}

// slugs ranks and returns the slugs.
func slugs(x *Index, q Query) string {
	var all []string
	for _, h := range x.Rank(q, Recipe(), 10) {
		all = append(all, h.Slug)
	}
	return strings.Join(all, " ")
}

// random makes a document of few words, so that documents share them.
func random(r *rand.Rand) Document {
	vocabulary := strings.Fields("atlas boat cellar dinner engine forest garden harbour island jungle kitchen ladder yesterday 2024 ana bo")
	var text strings.Builder
	for range r.IntN(200) {
		text.WriteString(vocabulary[r.IntN(len(vocabulary))] + []string{" ", "\n\n", "? "}[min(2, r.IntN(40)/19)])
	}
	d := memory(fmt.Sprintf("mem/a/%d", r.IntN(40)), text.String())
	d.When = now.AddDate(0, 0, -r.IntN(50))
	if r.IntN(2) == 0 {
		d.Type, d.Session, d.Who = frontmatter.Episodic, fmt.Sprint(r.IntN(3)), []string{vocabulary[14+r.IntN(2)]}
	}
	if r.IntN(3) == 0 {
		d.Links = []frontmatter.Relation{{Relation: "supports", Target: fmt.Sprintf("mem/a/%d", r.IntN(40)), Strength: r.Float64()}}
	}
	d.Trust, d.Tags = frontmatter.Trust(r.IntN(4)), []string{vocabulary[r.IntN(3)]}
	return d
}

// An index that was changed in place, and one that was written and read, find
// what one finds that was made of the same documents at once.
func TestChangedInPlace(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		x, docs := indexOf(t), map[string]Document{}
		for range 400 {
			d := random(r)
			if _, there := docs[d.Slug]; r.IntN(3) == 0 {
				delete(docs, d.Slug)
				if x.Remove(d.Slug) != there {
					t.Fatalf("seed %d: removing %s", seed, d.Slug)
				}
				continue
			}
			if err := x.Put(d); err != nil {
				t.Fatal(err)
			}
			docs[d.Slug] = d
			if r.IntN(100) == 0 {
				x.repack()
			}
		}
		fresh := indexOf(t)
		for _, d := range docs {
			if err := fresh.Put(d); err != nil {
				t.Fatal(err)
			}
		}
		alike(t, fmt.Sprintf("seed %d, in place", seed), x, fresh)
		read, err := Decode(x.Encode())
		if err != nil {
			t.Fatal(err)
		}
		alike(t, fmt.Sprintf("seed %d, read again", seed), read, fresh)
		if again := string(read.Encode()); again != string(x.Encode()) {
			t.Errorf("seed %d: the blob is another after reading it", seed)
		}
		for slug := range docs {
			read.Remove(slug)
		}
		if n, parts := read.Len(); n+parts+len(read.people.count)+len(read.groups.byName)+read.liveWords != 0 {
			t.Errorf("seed %d: something is left of nothing: %d %d %v %v", seed, n, parts, read.people, read.groups)
		}
	}
}

// alike compares what two indexes find.
func alike(t *testing.T, name string, x, y *Index) {
	t.Helper()
	for _, text := range []string{"atlas boat", "What did Ana have for dinner?", "when was Bo in the forest in October", "garden yesterday", "jungel"} {
		a, b := x.Rank(Query{Text: text, Now: now}, Recipe(), 100), y.Rank(Query{Text: text, Now: now}, Recipe(), 100)
		if len(a) != len(b) {
			t.Fatalf("%s: %q finds %d and %d", name, text, len(a), len(b))
		}
		for i := range a {
			if math.Abs(a[i].Score-b[i].Score) > 1e-9 || a[i].Section != b[i].Section && a[i].Slug == b[i].Slug {
				t.Fatalf("%s: %q finds %+v and %+v", name, text, a[i], b[i])
			}
		}
	}
}

// What is dead is cleared away, so that an index does not grow with changes.
func TestIndexDoesNotGrow(t *testing.T) {
	x := indexOf(t)
	for i := range 20000 {
		if err := x.Put(memory(fmt.Sprintf("mem/%d", i%10), fmt.Sprintf("unique%d words", i))); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.sections) > 2048 || len(x.terms) > 2048 || len(x.docs) > 2048 || len(x.groups.all) > 2048 {
		t.Errorf("%d sections, %d terms, %d documents, %d groups for 10", len(x.sections), len(x.terms), len(x.docs), len(x.groups.all))
	}
}

func TestPutRefuses(t *testing.T) {
	x := indexOf(t, memory("mem/a", "old words"))
	for _, tt := range []struct {
		doc Document
		err error
	}{
		{Document{Body: "x"}, ErrNoSlug},
		{Document{Slug: "mem/a", Body: strings.Repeat("x", maxBody+1)}, ErrTooLong},
	} {
		if err := x.Put(tt.doc); !errors.Is(err, tt.err) {
			t.Errorf("%v", err)
		}
	}
	if got := slugs(x, Query{Text: "old"}); got != "mem/a" {
		t.Errorf("after what was refused: %q", got)
	}
	// Numbers that are none do no harm.
	odd := memory("mem/b", "odd")
	odd.Salience, odd.Emotion[0], odd.Tags = math.NaN(), math.Inf(1), []string{"a\x00b", "\x00"}
	odd.Links = []frontmatter.Relation{{Target: "mem/a", Strength: -5}}
	if err := x.Put(odd); err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(x.Encode()); err != nil {
		t.Error(err)
	}
}
