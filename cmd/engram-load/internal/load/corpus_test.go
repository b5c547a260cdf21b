package load

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// The corpus matches its index, is valid and in order, and contains what the
// workloads ask for.
func TestCorpus(t *testing.T) {
	const size = 2001
	c, cache := testCorpus(t, size)
	events := readEvents(t, c.Path)
	if len(events) != size || len(c.Entries) != size {
		t.Fatalf("%d events, %d entries", len(events), len(c.Entries))
	}
	rare, common, heads := 0, 0, map[string]bool{}
	of := map[int]int{}
	for i, ev := range events {
		e := c.Entries[i]
		if err := wire.Verify(ev); err != nil {
			t.Fatal(err)
		}
		if e.ID.Hex() != ev.ID || e.CreatedAt != int64(ev.CreatedAt) || e.Engram != (ev.Kind == nipae.Kind) {
			t.Fatalf("entry %d: %+v is not %v", i, e, ev)
		}
		if i > 0 && ev.CreatedAt <= events[i-1].CreatedAt {
			t.Fatalf("event %d is not newer than the one before", i)
		}
		if !e.Engram {
			if n := len(wire.AppendEvent(nil, ev)); n < 490 || n > 510 {
				t.Errorf("note %d has %d bytes", i, n)
			}
			if ev.PubKey != c.Authors[e.Who].Pub || strings.Contains(ev.Content, CommonWord) != e.Common ||
				strings.Contains(ev.Content, RareWord) != e.Rare || (ev.Tags.Find("t") != nil) != e.Rare {
				t.Errorf("entry %d: %+v is not %v", i, e, ev)
			}
			rare, common = rare+one(e.Rare), common+one(e.Common)
			continue
		}
		agent := c.Agents[e.Who]
		opened, err := nipae.Open(agent.convo, agent.Pub, agent.Owner.Pub, ev)
		if err != nil || opened.Body.Slug() != slugOf(of[e.Who]) || ev.Tags.GetD() != agent.Address(of[e.Who]) {
			t.Errorf("engram %d: %v", i, err)
		}
		of[e.Who]++
		heads[ev.Tags.GetD()] = true
	}
	if len(heads) != size/2 || of[0] != size/4 || c.Agents[0].Engrams != size/4 || len(of) != 1+otherAgents {
		t.Errorf("%d heads, %d of the first of %d agents", len(heads), of[0], len(of))
	}
	if rare != (size+1)/2/10 || rare != c.Rare() || common != (size+3)/4 || common != c.Common() {
		t.Errorf("%d rare, %d common; %d and %d by the index", rare, common, c.Rare(), c.Common())
	}
	again, err := LoadCorpus(cache, size, testSeed)
	if err != nil || !slices.Equal(again.Entries, c.Entries) || again.Agents[0].Engrams != size/4 || again.Bytes != c.Bytes {
		t.Errorf("read again: %v", err)
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The same size and seed give the same ids in another cache; another seed none
// of them.
func TestCorpusFollowsFromItsSeed(t *testing.T) {
	a, _ := testCorpus(t, 60)
	b, cache := testCorpus(t, 60)
	if !slices.Equal(a.Entries, b.Entries) {
		t.Error("two corpora of one seed differ")
	}
	other, err := PrepareCorpus(context.Background(), cache, 60, testSeed+1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range other.Entries {
		if other.Entries[i].ID == a.Entries[i].ID {
			t.Errorf("event %d does not follow from the seed", i)
		}
	}
}

// A cache that was cut or is of another version is not used, but made anew.
func TestDamagedCacheIsMadeAnew(t *testing.T) {
	tests := map[string]func(t *testing.T, path string){
		"events cut": func(t *testing.T, path string) { truncate(t, path, 1000) },
		"index cut":  func(t *testing.T, path string) { truncate(t, besides(path), 200) },
		"no index":   func(t *testing.T, path string) { remove(t, besides(path)) },
		"no events":  func(t *testing.T, path string) { remove(t, path) },
		"version": func(t *testing.T, path string) {
			edit(t, besides(path), []byte(`{"version":1,`), []byte(`{"version":0,`))
		},
		"seed":     func(t *testing.T, path string) { edit(t, besides(path), []byte(`"seed":7`), []byte(`"seed":8`)) },
		"not JSON": func(t *testing.T, path string) { edit(t, besides(path), []byte(`{"v`), []byte(`["v`)) },
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			c, cache := testCorpus(t, 60)
			damage(t, c.Path)
			if _, err := LoadCorpus(cache, 60, testSeed); !errors.Is(err, ErrNotPrepared) {
				t.Errorf("got %v", err)
			}
			again, err := PrepareCorpus(context.Background(), cache, 60, testSeed)
			if err != nil || len(readEvents(t, again.Path)) != 60 || !slices.Equal(again.Entries, c.Entries) {
				t.Errorf("made anew: %v", err)
			}
			left, err := os.ReadDir(cache)
			if err != nil || len(left) != 2 {
				t.Errorf("in the cache: %v, %v", left, err)
			}
		})
	}
}

// Making a corpus can be interrupted, and leaves nothing behind.
func TestPrepareEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cache := t.TempDir()
	if _, err := PrepareCorpus(ctx, cache, 10_000, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
		t.Errorf("in the cache: %v, %v", left, err)
	}
}

func TestSet(t *testing.T) {
	cache := t.TempDir()
	spec := SetSpec{Name: "test", Engrams: true, Count: 400, Authors: 4, Replace: 10, Seed: 3}
	s, err := PrepareSet(context.Background(), cache, spec)
	if err != nil {
		t.Fatal(err)
	}
	events := readEvents(t, s.Path)
	heads := map[string]int64{}
	replaced := 0
	for i, ev := range events {
		if ev.PubKey != s.Agents[i%4].Pub || ev.ID != string(s.ID(i)) || !bytes.Equal(s.JSON(i), wire.AppendEvent(nil, ev)) {
			t.Fatalf("event %d is %v", i, ev)
		}
		if f, err := wire.ParseFrame(slices.Concat([]byte(`["EVENT",`), s.JSON(i), []byte("]")), wire.Limits{}); err != nil || f.Event.ID != ev.ID {
			t.Fatalf("message %d: %v", i, err)
		}
		address := ev.PubKey + ev.Tags.GetD()
		if before, ok := heads[address]; ok {
			if replaced++; int64(ev.CreatedAt) <= before {
				t.Errorf("event %d does not replace", i)
			}
		}
		heads[address] = int64(ev.CreatedAt)
	}
	if replaced != 40 {
		t.Errorf("%d of 400 replace", replaced)
	}
	again, err := PrepareSet(context.Background(), cache, spec)
	if err != nil || !bytes.Equal(again.JSON(399), s.JSON(399)) || again.Len() != 400 || again.Bytes() != s.Bytes() {
		t.Errorf("from the cache: %v", err)
	}
	tagged, err := PrepareSet(context.Background(), cache, SetSpec{Name: "test", Count: 10, Authors: 3, Tags: 2, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range readEvents(t, tagged.Path) {
		if len(ev.Tags) != 2 || ev.Tags[0][0] != "e" || ev.Tags[1][0] != "p" {
			t.Errorf("tags %v", ev.Tags)
		}
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, path string, old, new []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b, old) {
		t.Fatalf("%s does not hold %s", path, old)
	}
	if err := os.WriteFile(path, bytes.Replace(b, old, new, 1), 0o600); err != nil {
		t.Fatal(err)
	}
}
