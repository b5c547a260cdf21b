package localcopy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/memory/meaning"
	"engramd/internal/memory/state/sealedfile"
)

// TestHead: all that a list shows of an address.
func TestHead(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{NoDisk: true})
	text, gone, doubted, garbled := a.write("mem/a", "text", 100), a.remove("mem/b", 200), a.write("mem/c", "below", 300), a.garbled("mem/c", 400)
	lone := a.garbled("mem/d", 500)
	put(t, m, near, text, gone, doubted, lone)
	put(t, m, far, garbled, text)
	err := m.Read(context.Background(), func(v *View) error {
		for slug, want := range map[string]Head{
			"mem/a": {Slug: "mem/a", ID: text.ID, CreatedAt: 100, Size: 4, Hash: hashOf("text"), Relays: []string{near, far}},
			"mem/b": {Slug: "mem/b", ID: gone.ID, CreatedAt: 200, Tombstone: true, Relays: []string{near}},
			"mem/c": {Slug: "mem/c", ID: doubted.ID, CreatedAt: 300, Size: 5, Hash: hashOf("below"), Doubtful: 1, Relays: []string{near}},
			"mem/d": {ID: lone.ID, CreatedAt: 500, Unreadable: "the engram does not decrypt", Relays: []string{near}},
		} {
			got, ok := v.Head(slug)
			slices.Sort(got.Relays)
			slices.Sort(want.Relays)
			if !ok || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %+v, %v\nwant %+v", slug, got, ok, want)
			}
		}
		if h, ok := v.Head("mem/none"); ok {
			t.Errorf("%+v", h)
		}
		for _, none := range []string{"mem/b", "mem/d", "mem/none", ""} {
			if text, ok := v.Text(none); ok {
				t.Errorf("%s: %q", none, text)
			}
		}
		for prefix, want := range map[string]string{"": "mem/a mem/b mem/c", "mem/": "mem/a mem/b mem/c", "mem/b": "mem/b", "mem/x": "", "mem/a/": ""} {
			var got []string
			for h := range v.Heads(prefix) {
				got = append(got, h.Slug)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("under %q: %q", prefix, got)
			}
		}
		for range v.Heads("") {
			break // ends the reading, and is no failure
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadIsOneState: what others write meanwhile is not seen, and afterwards it
// is, in the index too.
func TestReadIsOneState(t *testing.T) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	m, other := open(t, a.Pair, Options{Dir: dir}), open(t, a.Pair, Options{Dir: dir})
	put(t, m, near, a.write("mem/a", "one", 1))
	err := m.Read(context.Background(), func(v *View) error {
		put(t, other, near, a.write("mem/a", "two", 2), a.write("mem/b", "new", 2))
		if text, _ := v.Text("mem/a"); text != "one" || v.Index().Has("mem/b") {
			return errors.New("it changed under the reader")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, m); got != "mem/a = two\nmem/b = new" {
		t.Errorf("%q", got)
	}
}

// TestManyGoroutines: readers and writers of one copy at once.
func TestManyGoroutines(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	for name, o := range map[string]Options{"disk": {Dir: t.TempDir()}, "memory": {NoDisk: true}} {
		t.Run(name, func(t *testing.T) {
			m := open(t, a.Pair, o)
			var each sync.WaitGroup
			for w := range 3 {
				one := *a
				one.nonce = uint64(w) << 32
				each.Go(func() {
					for i := range 20 {
						if _, err := m.Put(context.Background(), near, eventsOf(one.write(fmt.Sprintf("mem/w%d", w), fmt.Sprintf("text %d", i), int64(i+1)))); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range 4 {
				each.Go(func() {
					for range 20 {
						err := m.Read(context.Background(), func(v *View) error {
							n := 0
							for h := range v.Heads("") {
								if n++; !v.Index().Has(h.Slug) {
									return fmt.Errorf("%s is not in the index", h.Slug)
								}
							}
							if docs, _ := v.Index().Len(); docs != n {
								return fmt.Errorf("%d heads, %d in the index", n, docs)
							}
							return nil
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			each.Wait()
			if got := shown(t, m); got != "mem/w0 = text 19\nmem/w1 = text 19\nmem/w2 = text 19" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestReadEnds: an error, a panic and an ended context leave the copy as it was.
func TestReadEnds(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{Dir: t.TempDir()})
	put(t, m, near, a.write("mem/a", "text", 1))
	mine := errors.New("mine")
	if err := m.Read(context.Background(), func(*View) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		m.Read(context.Background(), func(*View) error { panic("no") })
	}()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Read(ctx, func(*View) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := m.Put(ctx, near, eventsOf(a.write("mem/b", "b", 1))); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := shown(t, m); got != "mem/a = text" {
		t.Errorf("%q", got)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Read(context.Background(), func(*View) error { return nil }); !errors.Is(err, sealedfile.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestRowsAreCovered: a row that is changed by who has the key of the file, or by
// an accident that no page shows, is not told.
func TestRowsAreCovered(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	const sum = "x'0000000000000000000000000000000000000000000000000000000000000000'"
	for _, change := range []string{
		"UPDATE texts SET text = x'616e6f74686572'",
		"UPDATE events SET created = created + 1",
		"UPDATE events SET size = 3",
		"UPDATE events SET hash = " + sum,
		"UPDATE events SET id = " + sum,
		"UPDATE events SET mac = x'00'",
		"UPDATE events SET state = 1",
		"UPDATE places SET slug = 'mem/other'",
		"UPDATE places SET d = " + sum + " WHERE slug = 'mem/a'",
		"UPDATE events SET reason = 'x'",
		"UPDATE relays SET confirmed = confirmed + 60000",
		"UPDATE relays SET complete = 1",
		"UPDATE vectors SET sections = x'010005'",
		"DELETE FROM counter",
	} {
		var said lines
		m := open(t, a.Pair, Options{NoDisk: true, Warn: said.add})
		ev := a.write("mem/a", "the text", 100)
		put(t, m, near, ev)
		if err := m.SetMark(context.Background(), near, Mark{Confirmed: time.Now()}); err != nil {
			t.Fatal(err)
		}
		v, err := meaning.Quantized([]float32{1, 2})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.PutVectors(context.Background(), "model", hashOf("the text"), []meaning.Vector{v}); err != nil {
			t.Fatal(err)
		}
		if err := m.file.Write(context.Background(), func(tx *sealedfile.Tx) error { return tx.Exec(change) }); err != nil {
			t.Fatal(err)
		}
		err = m.Read(context.Background(), func(v *View) error {
			_, whole := v.Text("mem/a")
			h, _ := v.Head("mem/a")
			_, vectors := v.Vectors("model", "mem/a")
			if f := v.Freshness([]string{near}); v.tx.Err() == nil && (whole || h.Slug != "" || vectors || !f.Unfinished || f.AsOf.After(time.Now())) {
				return fmt.Errorf("%s: text %v, head %+v, vectors %v, %+v", change, whole, h, vectors, f)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestFreshness(t *testing.T) {
	a, c := newAuthor(t, "agent", "owner"), newClock()
	m := open(t, a.Pair, Options{NoDisk: true, Now: c.now})
	t0 := c.now()
	set := func(relay string, mark Mark) {
		t.Helper()
		if err := m.SetMark(context.Background(), relay, mark); err != nil {
			t.Fatal(err)
		}
		got, err := m.Mark(context.Background(), relay)
		if got.Life = 0; err != nil || got != mark {
			t.Errorf("%+v, %v, want %+v", got, err, mark)
		}
	}
	check := func(when string, want Freshness, relays ...string) {
		t.Helper()
		if got, err := m.Freshness(context.Background(), relays); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", when, got, err, want)
		}
	}
	check("no relay", Freshness{Stale: true, Unfinished: true})
	check("nothing known", Freshness{Stale: true, Unfinished: true}, near)
	set(near, Mark{Newest: 5, Confirmed: t0, Compared: t0, Complete: true})
	check("one", Freshness{AsOf: t0, Latest: t0}, near)
	check("another name of it", Freshness{AsOf: t0, Latest: t0}, "WSS://near.example:443")
	check("one of two", Freshness{Latest: t0, Stale: true, Unfinished: true}, near, far)
	set(far, Mark{Confirmed: t0.Add(-time.Minute), Complete: false})
	check("both, one is being built", Freshness{AsOf: t0.Add(-time.Minute), Latest: t0, Unfinished: true}, near, far)
	set(far, Mark{Confirmed: t0.Add(-2 * time.Minute), Complete: true})
	check("one is late", Freshness{AsOf: t0.Add(-2 * time.Minute), Latest: t0, Stale: true}, far, near)
	c.pass(FreshFor)
	check("just so", Freshness{AsOf: t0, Latest: t0}, near)
	c.pass(time.Millisecond)
	check("a minute ago", Freshness{AsOf: t0, Latest: t0, Stale: true}, near)
	set(near, Mark{Confirmed: t0.Add(time.Hour), Complete: true})
	check("in the future", Freshness{Stale: true}, near)
	if _, err := m.Forget(context.Background(), near); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Relays(context.Background()); err != nil || !slices.Equal(got, []string{far}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := m.Mark(context.Background(), near); err != nil || got != (Mark{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestVectors(t *testing.T) {
	a, ctx := newAuthor(t, "agent", "owner"), context.Background()
	m := open(t, a.Pair, Options{Dir: t.TempDir()})
	put(t, m, near, a.write("mem/a", "one", 1), a.write("mem/b", "two", 1), a.write("mem/sys/c", "machine", 1), a.remove("mem/d", 1))
	lacking := func(model string) (out []Head) {
		t.Helper()
		if err := m.Read(ctx, func(v *View) error { out = v.Lacking(model, 10); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	all := lacking("small")
	if len(all) != 2 || all[0].Slug != "mem/a" || all[1].Slug != "mem/b" {
		t.Fatalf("%+v", all)
	}
	one, err := meaning.Quantized([]float32{0.5, -1, 0.25})
	if err != nil {
		t.Fatal(err)
	}
	two, err := meaning.Quantized([]float32{-1, 2, -0.5})
	if err != nil {
		t.Fatal(err)
	}
	if c := cosine(one, two); math.Abs(c+1) > 0.001 || cosine(one, meaning.Vector{1}) != 0 || cosine(one, meaning.Vector{0, 0, 0}) != 0 {
		t.Errorf("cosine %v of opposite ones", c)
	}
	if err := m.PutVectors(ctx, "small", all[0].Hash, []meaning.Vector{one, two}); err != nil {
		t.Fatal(err)
	}
	if left := lacking("small"); len(left) != 1 || left[0].Slug != "mem/b" || len(lacking("large")) != 2 {
		t.Errorf("%+v", left)
	}
	err = m.Read(ctx, func(v *View) error {
		got, ok := v.Vectors("small", "mem/a")
		if _, other := v.Vectors("large", "mem/a"); !ok || other || len(got) != 2 || !slices.Equal(got[0], one) || !slices.Equal(got[1], two) {
			return fmt.Errorf("%v, %v", got, ok)
		}
		n := 0
		for slug, sections := range v.AllVectors("small") {
			if n++; slug != "mem/a" || len(sections) != 2 {
				return fmt.Errorf("%s: %v", slug, sections)
			}
		}
		if n != 1 {
			return fmt.Errorf("%d texts have vectors", n)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for name, bad := range map[string][]meaning.Vector{"none": nil, "empty": {{}}, "two lengths": {{1, 2}, {1}}, "too long": {make(meaning.Vector, meaning.MaxDim+1)}} {
		if err := m.PutVectors(ctx, "small", all[0].Hash, bad); !errors.Is(err, meaning.ErrVectors) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, bad := range map[string][]float32{"none": {}, "zero": {0, 0}, "NaN": {1, float32(math.NaN())}, "endless": {float32(math.Inf(1))}, "too long": make([]float32, meaning.MaxDim+1)} {
		if v, err := meaning.Quantized(bad); !errors.Is(err, meaning.ErrVectors) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	// Another text, another model: what nothing needs goes.
	if err := m.PutVectors(ctx, "large", all[1].Hash, []meaning.Vector{one}); err != nil {
		t.Fatal(err)
	}
	if err := m.OnlyModel(ctx, "large"); err != nil {
		t.Fatal(err)
	}
	if len(lacking("small")) != 2 || len(lacking("large")) != 1 {
		t.Error("the wrong model was forgotten")
	}
	put(t, m, near, a.write("mem/b", "changed", 2))
	if err := keepIndex(ctx, m, 1); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, m, "vectors"); n != 0 {
		t.Errorf("%d vectors of texts that are gone", n)
	}
}

func rows(t *testing.T, m *Copy, table string) (n int64) {
	t.Helper()
	err := m.file.Read(context.Background(), func(tx *sealedfile.Tx) error {
		n = tx.Int("SELECT count(*) FROM " + table)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestParseVectors: what lies in a row is read or refused, and read as it was
// written.
func TestParseVectors(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	read := 0
	for range 20_000 {
		blob := make([]byte, rnd.IntN(40))
		for i := range blob {
			blob[i] = byte(rnd.Uint32())
		}
		if len(blob) > 1 && rnd.IntN(4) > 0 {
			blob[0], blob[1] = byte(rnd.IntN(6)), 0
		}
		sections, ok := parseVectors(blob)
		if !ok {
			continue
		}
		read++
		var back []byte
		for _, s := range sections {
			for _, x := range s {
				back = append(back, byte(x))
			}
		}
		if len(sections) == 0 || len(sections[0]) != int(blob[0]) || string(back) != string(blob[2:]) {
			t.Fatalf("%v of %v", sections, blob)
		}
	}
	if read < 1000 {
		t.Errorf("only %d were read", read)
	}
}
