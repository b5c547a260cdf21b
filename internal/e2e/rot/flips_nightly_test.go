//go:build nightly

package rot

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// healthy is a data folder with what is to be read of it.
type healthy struct {
	folder   string
	database []byte
	all      rig.Events // what an export with --history gives
	heads    rig.Events
	stored   []*nostr.Event // in the order of their storing
	gated    []string       // ids that strangers are not shown
	open     []string       // of heads that owner and agent read by id
}

// fates are what may become of a flip.
type fates struct {
	sync.Mutex
	found, healed, harmless, unstarted int
	hidden                             int // events that a question by id did not find, of flips that check finds
}

// TestFlips flips one bit of the database at 150 places: a third of them anywhere in
// what is in use, the rest around the ids of events, in rows and indexes, where class,
// kind and time lie too.
func TestFlips(t *testing.T) {
	places := 150
	if rig.Soak() {
		places = 1500
	}
	seed := rig.Seed(t)
	h := newHealthy(t)
	rng := rand.New(rand.NewPCG(seed, 4))
	f := &fates{}
	if err := h.flip(t, f, unflipped); err != nil || f.harmless != 1 {
		t.Fatalf("with no bit flipped: %d harmless, %v", f.harmless, err)
	}
	work := make(chan int)
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for bit := range work {
				if err := h.flip(t, f, bit); err != nil {
					t.Errorf("bit %d of byte %d: %v", bit%8, bit/8, err)
				}
			}
		})
	}
	for n := range places {
		work <- h.place(rng, n)
	}
	close(work)
	working.Wait()
	t.Logf("%d flips in %d bytes, %d events: %d found (%d of them refused at the start), %d healed, %d harmless; %d events not found by id until then",
		places, len(h.database), len(h.all), f.found, f.unstarted, f.healed, f.harmless-1, f.hidden)
	if f.found+f.healed < places/4 || f.healed == 0 {
		t.Error("so few flips met anything that they prove nothing")
	}
}

func newHealthy(t *testing.T) *healthy {
	t.Helper()
	h := &healthy{}
	relay := rig.Start(t, rig.Exclude)
	agent, owner, c := relaytest.Agent(), relaytest.Owner(), rig.Dial(t, relay)
	base := rig.Now() - 10_000
	for i := range int64(30) {
		h.stored = append(h.stored,
			relaytest.Note(agent, base+i, fmt.Sprint("note ", i)),
			relaytest.Memory(agent, owner.Pub, fmt.Sprintf("mem/rot/%d", i%20), fmt.Sprint("value ", i), base+i),
			relaytest.Entry(agent, owner.Pub, fmt.Sprintf("%s%02d", agent.Pub[:30], i%10), "message", fmt.Sprint("entry ", i), base+i),
			relaytest.Sign(agent, relaytest.KindWrap, base+i, fmt.Sprint("sealed ", i), rig.Tag("p", owner.Pub)))
	}
	c.Store(h.stored...)
	h.all, h.heads = rig.Exported(t, relay, "--history"), rig.Exported(t, relay)
	shown := map[string]bool{}
	for id := range h.heads {
		for range c.MustQuery(relaytest.Filter{"ids": []string{id}}).Events {
			shown[id] = true
		}
	}
	parties := rig.Dial(t, relay, owner, agent)
	for _, id := range slices.Sorted(maps.Keys(h.all)) {
		if h.heads[id] != nil && len(parties.MustQuery(relaytest.Filter{"ids": []string{id}}).Events) == 1 {
			h.open = append(h.open, id)
		}
		if !shown[id] {
			h.gated = append(h.gated, id)
		}
	}
	if len(h.open) != len(h.heads) || len(h.gated) < 60 || len(shown) < 30 {
		t.Fatalf("%d of %d heads are read, %d events are gated, %d shown to all", len(h.open), len(h.heads), len(h.gated), len(shown))
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	h.folder = relay.Data
	var err error
	if h.database, err = os.ReadFile(filepath.Join(h.folder, "engramd.db")); err != nil {
		t.Fatal(err)
	}
	return h
}

// place picks a bit.
func (h *healthy) place(rng *rand.Rand, n int) int {
	for n%3 == 0 {
		if at := rng.IntN(len(h.database)); h.database[at] != 0 { // zeros are free space, most of them
			return 8*at + rng.IntN(8)
		}
	}
	for {
		id, err := hex.DecodeString(h.stored[rng.IntN(len(h.stored))].ID)
		if err != nil {
			panic(err)
		}
		var places []int
		for from := 0; ; {
			i := bytes.Index(h.database[from:], id)
			if i < 0 {
				break
			}
			places = append(places, from+i)
			from += i + len(id)
		}
		if len(places) > 0 {
			at := places[rng.IntN(len(places))] - 24 + rng.IntN(24+32+64)
			return 8*min(max(at, 0), len(h.database)-1) + rng.IntN(8)
		}
	}
}

// unflipped is the place of no bit.
const unflipped = -1

// copyTo makes a data folder with one bit flipped.
func (h *healthy) copyTo(data string, bit int) error {
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"engramd.mark", "relay.key"} {
		text, err := os.ReadFile(filepath.Join(h.folder, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(data, name), text, 0o600); err != nil {
			return err
		}
	}
	file := bytes.Clone(h.database)
	if bit != unflipped {
		file[bit/8] ^= 1 << (bit % 8)
	}
	return os.WriteFile(filepath.Join(data, "engramd.db"), file, 0o600)
}

// flip lives through one.
func (h *healthy) flip(t *testing.T, f *fates, bit int) error {
	data := filepath.Join(t.TempDir(), "data")
	if err := h.copyTo(data, bit); err != nil {
		return err
	}
	defer os.RemoveAll(data)
	found, err := h.look(t, data)
	if err != nil {
		return err
	}
	p := relaytest.NewProgram("rot")
	relay, err := relaytest.Launch(p, relaytest.Options{Build: rig.Plain, Data: data, Env: []string{rig.Exclude}})
	if err != nil {
		if relay == nil || !strings.Contains(relay.Log.Text(), "engramd serve: ") || !found {
			return fmt.Errorf("the start failed, check found %v: %w", found, err)
		}
		f.Lock()
		defer f.Unlock()
		f.found++
		f.unstarted++
		return nil
	}
	hidden, err := h.ask(relay)
	if err == nil {
		err = h.again(relay)
	}
	if code, _ := relay.Stop(); code != 0 && err == nil && !found {
		err = fmt.Errorf("exit code %d\n%s", code, relay.Log.Text())
	}
	if e := p.Finish(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	still, err := h.look(t, data)
	if err == nil && hidden > 0 && !found {
		err = fmt.Errorf("%d events were not found, and check says that all is well", hidden)
	}
	f.Lock()
	defer f.Unlock()
	f.hidden += hidden
	switch {
	case !found:
		f.harmless++
	case still:
		f.found++
	default:
		f.healed++
	}
	return err
}

// look is what check and export say of a folder: whether damage was found. What is
// exported is what was stored, and all of it, once, unless it was: an event that a
// damaged index of ids hides is stored a second time when it comes again.
func (h *healthy) look(t *testing.T, data string) (found bool, err error) {
	check := relaytest.RunBinary(t, rig.Plain, nil, nil, "check", "--data", data)
	found = check.Code != 0
	for _, flags := range [][]string{nil, {"--history"}} {
		r := relaytest.RunBinary(t, rig.Plain, nil, nil, append([]string{"export", "--data", data}, flags...)...)
		lines := slices.Collect(bytes.Lines(r.Stdout))
		once := slices.CompactFunc(slices.SortedFunc(slices.Values(lines), bytes.Compare), bytes.Equal)
		if len(once) < len(lines) && !found {
			return found, fmt.Errorf("check says that all is well, and export has events twice")
		}
		events, err := rig.ParseEvents(bytes.Join(once, nil))
		if err != nil {
			return found, err
		}
		want := h.heads
		if len(flags) > 0 {
			want = h.all
		}
		for _, ev := range events {
			if err := h.same(ev); err != nil {
				return found, fmt.Errorf("export: %w", err)
			}
		}
		if !found && (r.Code != 0 || len(events) != len(want)) {
			return found, fmt.Errorf("check says that all is well, export ends with %d and has %d of %d events", r.Code, len(events), len(want))
		}
	}
	return found, nil
}

// same fails unless an event is what was stored.
func (h *healthy) same(ev *nostr.Event) error {
	if was := h.all[ev.ID]; was == nil || was.String() != ev.String() {
		return fmt.Errorf("an event that was never stored: %s", ev)
	}
	return nil
}

// ask reads as strangers and as parties. It returns how many events a question by id
// did not find without saying that they are damaged.
func (h *healthy) ask(relay *relaytest.Child) (hidden int, err error) {
	nobody, err := relaytest.Dial(relay.URL)
	if err != nil {
		return 0, err
	}
	defer nobody.Close()
	stranger, err := relaytest.Dial(relay.URL)
	if err != nil {
		return 0, err
	}
	defer stranger.Close()
	parties, err := relaytest.Dial(relay.URL)
	if err != nil {
		return 0, err
	}
	defer parties.Close()
	for c, keys := range map[*relaytest.Client][]relaytest.Key{stranger: {relaytest.NewKey(77)}, parties: {relaytest.Owner(), relaytest.Agent()}} {
		for _, k := range keys {
			if err := c.Auth(k); err != nil {
				return 0, err
			}
		}
	}
	agent := []string{relaytest.Agent().Pub}
	wide := []relaytest.Filter{{"authors": agent}, {"kinds": []int{1}}, {"since": 1}, {"kinds": []int{1, 30090, 30023}}, {"#p": []string{relaytest.Owner().Pub}}, {"ids": h.gated}}
	for _, c := range []*relaytest.Client{nobody, stranger, parties} {
		for _, filter := range wide {
			a, err := c.Query(filter)
			if err != nil {
				return 0, err
			}
			for _, ev := range a.Events {
				if err := h.same(ev); err != nil {
					return 0, err
				}
				if c != parties && slices.Contains(h.gated, ev.ID) {
					return 0, fmt.Errorf("%v shows a stranger %s", filter, ev)
				}
			}
		}
	}
	for _, id := range h.open {
		a, err := parties.Query(relaytest.Filter{"ids": []string{id}})
		if err != nil {
			return 0, err
		}
		for _, ev := range a.Events {
			if err := h.same(ev); err != nil {
				return 0, err
			}
		}
		if len(a.Events) == 0 && a.EOSE {
			hidden++
		}
	}
	return hidden, nil
}

// again sends all that was stored.
func (h *healthy) again(relay *relaytest.Child) error {
	c, err := relaytest.Dial(relay.URL)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, ev := range h.stored {
		if _, err := c.Publish(ev); err != nil {
			return err
		}
	}
	return nil
}
