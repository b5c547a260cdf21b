package vectors

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/meaning"
	server "engramd/internal/memory/model"
	"engramd/internal/memory/recall"
	"engramd/nips/nipae"
)

// words is a model of a few meanings: each number of a vector counts the words
// that have one.
type words struct {
	name  string
	asked atomic.Int32 // texts
	fail  atomic.Bool
	// most is how many bytes of a text it takes, if not 0, and poison a word that it
	// does not.
	most   int
	poison string
}

var meanings = [][]string{{"boat", "ship", "vessel"}, {"paint", "colour"}, {"cat", "kitten"}, {"which", "the"}}

func (w *words) Name() string         { return w.name }
func (w *words) Dim() int             { return len(meanings) + 1 }
func (w *words) Usual() meaning.Usual { return meaning.Usual{Mean: 0.1, Deviation: 0.2} }

func (w *words) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if w.fail.Load() {
		return nil, server.ErrFailed
	}
	var all [][]float32
	for _, t := range texts {
		w.asked.Add(1)
		if w.most > 0 && len(t) > w.most || w.poison != "" && strings.Contains(t, w.poison) {
			return nil, server.ErrRefused
		}
		v := make([]float32, w.Dim())
		v[len(meanings)] = 0.1
		for i, same := range meanings {
			for _, word := range same {
				v[i] += float32(strings.Count(strings.ToLower(t), word))
			}
		}
		all = append(all, v)
	}
	return all, ctx.Err()
}

// copyOf is a local copy that holds texts.
func copyOf(t testing.TB, texts map[string]string) (*localcopy.Copy, func(slug, text string)) {
	t.Helper()
	secret := testkeys.New("agent").Secret
	agent, err := nostr.GetPublicKey(secret)
	must(t, err)
	owner, err := nostr.GetPublicKey(testkeys.New("owner").Secret)
	must(t, err)
	key, err := nipae.DeriveConversationKey(secret, owner)
	must(t, err)
	m, err := localcopy.Open(t.Context(), localcopy.Pair{Agent: agent, Owner: owner, Conversation: key}, localcopy.Options{NoDisk: true})
	must(t, err)
	t.Cleanup(func() { m.Close() })
	at := int64(1_800_000_000)
	put := func(slug, text string) {
		t.Helper()
		at++
		body, err := nipae.NewMemory(nipae.Slug(slug), text)
		must(t, err)
		ev, err := nipae.Seal(key, body, nipae.Sealing{Secret: secret, Owner: owner, CreatedAt: at, Rand: crand.Reader})
		must(t, err)
		_, err = m.Put(t.Context(), "wss://one.example", []*nostr.Event{ev})
		must(t, err)
	}
	for slug, text := range texts {
		put(slug, text)
	}
	return m, put
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cosines are those of a query and what has vectors.
func cosines(t *testing.T, s *Source, query string) func(slug string, section int) (float64, bool) {
	t.Helper()
	near, err := s.Near(t.Context(), query)
	must(t, err)
	n, ok := near(query)
	if _, other := near("another"); !ok || other {
		t.Fatalf("it compares %q: %v, and what was not asked: %v", query, ok, other)
	}
	return n.Cosine
}

// found is what recall finds with the vectors there are.
func found(t *testing.T, s *Source, query string) (slugs []string) {
	t.Helper()
	near, err := s.Near(t.Context(), query)
	must(t, err)
	must(t, s.copy.Read(t.Context(), func(v *localcopy.View) error {
		for _, h := range v.Index().Rank(recall.Query{Text: query, Now: time.Now(), Near: near}, recall.Recipe(), 5) {
			slugs = append(slugs, h.Slug)
		}
		return nil
	}))
	return slugs
}

func TestMeaningBesideWords(t *testing.T) {
	m, put := copyOf(t, map[string]string{"mem/a": "The vessel was repaired in May.", "mem/b": "A kitten sleeps.", "mem/c": "Paint dries slowly.", "mem/d": "Rye grows.", "mem/e": "Storks nest here."})
	model := &words{name: "m"}
	s := patient(m, model)
	if n, err := s.Fill(t.Context()); n != 5 || err != nil {
		t.Fatalf("filled %d, %v", n, err)
	}
	if got := found(t, s, "ships"); len(got) == 0 || got[0] != "mem/a" {
		t.Errorf("found %v", got)
	}
	// A text that changes, and only that, is asked for again.
	before := model.asked.Load()
	put("mem/b", "A ship's cat. Ships, boats and vessels: a ship.")
	if n, err := s.Fill(t.Context()); n != 1 || err != nil || model.asked.Load() != before+1 {
		t.Errorf("filled %d with %d texts, %v", n, model.asked.Load()-before, err)
	}
	if got := found(t, s, "cats"); len(got) == 0 || got[0] != "mem/b" {
		t.Errorf("found %v", got)
	}
	// Another model makes its own.
	other := patient(m, &words{name: "other"})
	if n, err := other.Fill(t.Context()); n != 5 || err != nil {
		t.Errorf("another model filled %d, %v", n, err)
	}
	near := cosines(t, s, "ships")
	if _, ok := near("mem/a", 0); ok {
		t.Error("vectors of a model that is not used any more are there")
	}
}

// TestArchivedTextsHaveNoVectors: they go from the copy, also those of before, the
// server is not asked again, and they come back with the text.
func TestArchivedTextsHaveNoVectors(t *testing.T) {
	const text, archived = "The vessel was repaired in May.", "---\nstate: archived\n---\nThe vessel was repaired in May."
	m, put := copyOf(t, map[string]string{"mem/a": text, "mem/b": "A kitten sleeps.", "mem/c": "Paint dries slowly.", "mem/d": "Rye grows.", "mem/e": "Storks nest here.", "mem/old": "---\nstate: archived\n---\nOld boats."})
	model := &words{name: "m"}
	s := patient(m, model)
	fill := func(want int) {
		t.Helper()
		before := model.asked.Load()
		if n, err := s.Fill(t.Context()); n != want || err != nil || model.asked.Load() != before+int32(want) {
			t.Fatalf("filled %d with %d texts, %v, want %d", n, model.asked.Load()-before, err, want)
		}
	}
	vectors := func() (slugs []string) {
		t.Helper()
		must(t, m.Read(t.Context(), func(v *localcopy.View) error {
			slugs = nil
			for slug := range v.AllVectors(s.name) {
				slugs = append(slugs, slug)
			}
			slices.Sort(slugs)
			return nil
		}))
		return slugs
	}
	hash := func(slug string) (h string) {
		t.Helper()
		must(t, m.Read(t.Context(), func(v *localcopy.View) error {
			head, _ := v.Head(slug)
			h = head.Hash
			return nil
		}))
		return h
	}
	// One that an earlier program filled goes.
	must(t, m.PutVectors(t.Context(), s.name, hash("mem/old"), []meaning.Vector{{1, 2, 3, 4, 5}}))
	fill(5)
	if got := vectors(); !slices.Equal(got, []string{"mem/a", "mem/b", "mem/c", "mem/d", "mem/e"}) {
		t.Errorf("vectors of %q", got)
	}
	put("mem/a", archived)
	fill(0)
	if got := vectors(); !slices.Equal(got, []string{"mem/b", "mem/c", "mem/d", "mem/e"}) {
		t.Errorf("vectors of %q", got)
	}
	near := cosines(t, s, "ships")
	if _, ok := near("mem/a", 0); ok {
		t.Error("an archived text is near")
	}
	// The old text's are gone from the file too, so that they are made again.
	put("mem/a", text)
	fill(1)
	if got := found(t, s, "ships"); len(got) == 0 || got[0] != "mem/a" {
		t.Errorf("found %q", got)
	}
	fill(0)
}

func TestSectionsAreNumberedAsTheIndexHasThem(t *testing.T) {
	part := func(word string) string {
		return "# " + word + "\n\n" + strings.Repeat("filler words stand here ", 20) + word + ".\n\n"
	}
	m, _ := copyOf(t, map[string]string{"mem/long": "---\ndescription: Of many things\n---\n" + part("boat") + part("cat") + part("paint")})
	s := patient(m, &words{name: "m"})
	_, err := s.Fill(t.Context())
	must(t, err)
	near := cosines(t, s, "kitten")
	best, at := -1.0, -1
	for i := range 3 {
		c, ok := near("mem/long", i)
		if !ok {
			t.Fatalf("section %d has no vector", i)
		}
		if c > best {
			best, at = c, i
		}
	}
	if _, ok := near("mem/long", 3); at != 1 || ok {
		t.Errorf("section %d is nearest", at)
	}
}

// TestFailingModel: what was filled stays, recall gets an error to go on
// without, and the server is asked again after a pause.
func TestFailingModel(t *testing.T) {
	m, put := copyOf(t, map[string]string{"mem/a": "a boat"})
	model := &words{name: "m"}
	model.fail.Store(true)
	s := patient(m, model)
	if _, err := s.Near(t.Context(), "boat"); !errors.Is(err, server.ErrFailed) {
		t.Errorf("Near: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told, changed, again, done := make(chan error, 9), make(chan struct{}), make(chan time.Time), make(chan struct{})
	paused := make(chan time.Duration)
	go func() {
		defer close(done)
		s.Run(ctx, changed, func(d time.Duration) <-chan time.Time { paused <- d; return again }, func(err error) { told <- err })
	}()
	if err := <-told; !errors.Is(err, server.ErrFailed) {
		t.Errorf("told %v", err)
	}
	if d := <-paused; d != leastPause {
		t.Errorf("the first pause is %v", d)
	}
	again <- time.Now()
	if d := <-paused; d != 2*leastPause {
		t.Errorf("the second pause is %v", d)
	}
	model.fail.Store(false)
	again <- time.Now()
	if err := <-told; err != nil {
		t.Errorf("told %v when it works", err)
	}
	put("mem/b", "a kitten")
	changed <- struct{}{}
	changed <- struct{}{} // taken once the first is done
	near := cosines(t, s, "cat")
	if c, ok := near("mem/b", 0); !ok || c < 0.5 {
		t.Errorf("what came later: %v, %v", c, ok)
	}
	cancel()
	<-done
	if len(told) > 0 {
		t.Errorf("told %d times more", len(told))
	}
}

// TestRefusedTexts: a text that a server does not take keeps no other from having
// vectors; a long word of it is cut. A server that refuses all is at fault itself.
func TestRefusedTexts(t *testing.T) {
	m, put := copyOf(t, map[string]string{"mem/a": "a poison", "mem/b": "a boat", "mem/c": "a kitten " + strings.Repeat("x", 3000)})
	model := &words{name: "m", most: 1000, poison: "poison"}
	s := patient(m, model)
	for range 2 {
		if _, err := s.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	near := cosines(t, s, "cat")
	_, a := near("mem/a", 0)
	_, b := near("mem/b", 0)
	c, ok := near("mem/c", 0)
	if a || !b || !ok || c < 0.5 {
		t.Errorf("vectors of what is refused %v, of others %v and %v", a, b, ok)
	}
	put("mem/a", "a ship") // another text is asked for
	if n, err := s.Fill(t.Context()); n != 1 || err != nil {
		t.Errorf("filled %d, %v", n, err)
	}

	for _, many := range []int{1, refusals + 1} {
		all := map[string]string{}
		for i := range many {
			all[fmt.Sprintf("mem/%d", i)] = fmt.Sprintf("a boat, %d", i)
		}
		m, _ := copyOf(t, all)
		model := &words{name: "m", poison: "boat"}
		s := patient(m, model)
		if _, err := s.Fill(t.Context()); !errors.Is(err, server.ErrRefused) {
			t.Errorf("%d texts: %v", many, err)
		}
		model.poison = ""
		if n, err := s.Fill(t.Context()); n != many || err != nil {
			t.Errorf("filled %d of %d, %v", n, many, err)
		}
	}
}

// TestArchivedHaveNoVectors: nothing compares what recall does not offer; what was
// brought back has vectors again.
func TestArchivedHaveNoVectors(t *testing.T) {
	texts := map[string]string{}
	for i := range 3 * atOnce {
		texts[fmt.Sprintf("mem/a/%03d", i)] = fmt.Sprintf("---\nstate: archived\n---\nboat %d", i)
	}
	texts["mem/z"] = "a ship"
	kept, put := copyOf(t, texts)
	model := &words{name: "m"}
	s := patient(kept, model)
	has := func(slug string) (ok bool) {
		t.Helper()
		must(t, kept.Read(t.Context(), func(v *localcopy.View) error {
			ok = false
			for at := range v.AllVectors(s.name) {
				ok = ok || at == slug
			}
			return nil
		}))
		return ok
	}
	fill := func(want int) {
		t.Helper()
		if n, err := s.Fill(t.Context()); err != nil || n != want {
			t.Fatalf("%d, %v; want %d", n, err, want)
		}
	}
	fill(1)
	if asked := model.asked.Load(); asked != 1 || !has("mem/z") || has("mem/a/000") {
		t.Errorf("%d texts were asked for; %v, %v", asked, has("mem/z"), has("mem/a/000"))
	}
	put("mem/z", "---\nstate: archived\n---\na ship")
	put("mem/a/000", "boat 0")
	fill(1)
	if has("mem/z") || !has("mem/a/000") {
		t.Errorf("%v, %v", has("mem/z"), has("mem/a/000"))
	}
}

// patient is a Source of a test, where machines are busy: no test is about QueryLimit.
func patient(copy *localcopy.Copy, model *words) *Source {
	s := New(copy, model)
	s.limit = time.Minute
	return s
}
