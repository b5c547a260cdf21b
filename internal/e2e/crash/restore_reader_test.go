package crash

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/snapshots"
	"engramd/internal/snapshot/bundle"
)

// state is a set of ids.
type state map[string]bool

func stateOf(events []*nostr.Event) state {
	s := state{}
	for _, ev := range events {
		s[ev.ID] = true
	}
	return s
}

func jsonLines(events []*nostr.Event) (out []byte) {
	for _, ev := range events {
		out = append(wire.AppendEvent(out, ev), '\n')
	}
	return out
}

// watch records the states that readers may see, and those that they saw.
type watch struct {
	states  map[string]state // by name
	wrong   chan string      // the first of them
	seen    sync.Map         // names of states that were seen completely
	cut     atomic.Int64     // answers that ended because the memory was restored
	answers atomic.Int64
}

func (w *watch) fail(format string, args ...any) {
	select {
	case w.wrong <- fmt.Sprintf(format, args...):
	default:
	}
}

// judge fails unless an answer is one state, or a part of one if it was cut
// off.
func (w *watch) judge(how string, list []*nostr.Event, whole bool) {
	w.answers.Add(1)
	got := stateOf(list)
	for name, s := range w.states {
		if whole && len(list) == len(s) && maps.Equal(got, s) {
			w.seen.Store(name, true)
			return
		}
		inside := !whole
		for id := range got {
			inside = inside && s[id]
		}
		if inside {
			w.cut.Add(1)
			return
		}
	}
	w.fail("%s: %d events (whole: %v) are of no state", how, len(got), whole)
}

const restoredText = "error: the memory was restored meanwhile"

// read asks by REQ and COUNT on one connection until stop, and once more after
// it. It calls begun after the first answer.
func (w *watch) read(relay *relaytest.Child, begun func(), stop <-chan struct{}) {
	defer begun()
	c, err := relaytest.Dial(relay.URL)
	if err == nil {
		defer c.Close()
		err = c.Auth(relaytest.Agent())
	}
	for last := false; err == nil && !last; begun() {
		last = ended(stop)
		var a relaytest.Answer
		if a, err = c.Query(everything()); err != nil {
			break
		}
		if !a.EOSE && !strings.HasPrefix(a.Closed, restoredText) {
			err = fmt.Errorf("CLOSED: %s", a.Closed)
			break
		}
		w.judge("REQ", a.Events, a.EOSE)
		var n int64
		var closed string
		if n, closed, err = c.Count(everything()); err == nil && closed != "" {
			err = fmt.Errorf("COUNT: CLOSED: %s", closed)
		}
		w.count(n)
	}
	if err != nil {
		w.fail("reader: %v", err)
	}
}

func (w *watch) count(n int64) {
	for _, s := range w.states {
		if int(n) == len(s) {
			return
		}
	}
	w.fail("COUNT: %d is the size of no state", n)
}

// query is read over HTTP.
func (w *watch) query(relay *relaytest.Child, begun func(), stop <-chan struct{}) {
	defer begun()
	body, _ := json.Marshal([]any{everything()})
	for last := false; !last; begun() {
		last = ended(stop)
		r, err := relay.Post(relaytest.Agent(), "/query", body)
		var list []*nostr.Event
		switch {
		case err != nil:
		case r.Status == http.StatusServiceUnavailable:
			w.cut.Add(1)
			continue
		case r.Status != http.StatusOK:
			err = fmt.Errorf("status %d: %s", r.Status, r.Body)
		case r.Aborted:
			w.cut.Add(1)
			continue
		default:
			err = json.Unmarshal(r.Body, &list)
		}
		if err != nil {
			w.fail("/query: %v", err)
			return
		}
		w.judge("/query", list, true)
	}
}

func ended(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

func everything() relaytest.Filter {
	return relaytest.Filter{"kinds": []int{30174}, "authors": []string{relaytest.Agent().Pub}, "limit": 5000}
}

// during runs work while readers read, and fails unless they saw both states
// and no other. work may wait until a state is seen once more.
func during(t *testing.T, relay *relaytest.Child, states map[string]state, work func(see func(name string))) {
	t.Helper()
	w := &watch{states: states, wrong: make(chan string, 1)}
	stop := make(chan struct{})
	var readers, begun sync.WaitGroup
	for _, read := range []func(*relaytest.Child, func(), <-chan struct{}){w.read, w.read, w.query} {
		begun.Add(1)
		readers.Go(func() { read(relay, sync.OnceFunc(begun.Done), stop) })
	}
	begun.Wait()
	func() {
		defer readers.Wait()
		defer close(stop)
		work(func(name string) {
			t.Helper()
			w.seen.Delete(name)
			rig.Await(t, "a reader of the state "+name, func() bool {
				_, ok := w.seen.Load(name)
				return ok || len(w.wrong) > 0
			})
		})
	}()
	select {
	case text := <-w.wrong:
		t.Fatal(text)
	default:
	}
	for name := range states {
		if _, ok := w.seen.Load(name); !ok {
			t.Errorf("no reader saw the state %q: the test shows nothing", name)
		}
	}
	t.Logf("%d answers, %d of them cut", w.answers.Load(), w.cut.Load())
}

// TestReaderNeverSeesAMixture reads while the daemon repairs, rolls back,
// replaces and releases: by REQ in pages, by COUNT, over HTTP, and live.
func TestReaderNeverSeesAMixture(t *testing.T) {
	const memories, base = 640, 1_700_000_000 // five pages of an answer
	rounds := 2
	if rig.Soak() {
		rounds = 10
	}
	old, then, newer := versions(0, memories/2, base), versions(0, memories, base+10), versions(0, memories+40, base+20)
	agent := relaytest.Agent()
	src := newFolder(t)
	src.put(then)
	src.run("snapshot", "--agent", agent.Pub)
	bundles, err := filepath.Glob(filepath.Join(src.dir, "tenants", "default", "snapshots", "*", "*"+bundle.Extension))
	if err != nil || len(bundles) != 1 {
		t.Fatalf("%v, %v", bundles, err)
	}
	relay := rig.Start(t, rig.AllowRestore)
	engramdWith := func(in []byte, args ...string) {
		t.Helper()
		if r := relay.Run(in, append(args, "--data", relay.Data)...); r.Code != 0 {
			t.Fatalf("%v: %s%s", args, r.Stdout, r.Stderr)
		}
	}
	restore := []string{"snapshot", "restore", "--agent", agent.Pub, "--from", bundles[0], "--allow-unsigned"}
	engramdWith(jsonLines(old), "import")

	live := rig.Dial(t, relay, agent)
	a := live.MustSubscribe(everything())
	if !maps.Equal(stateOf(a.Events), stateOf(old)) {
		t.Fatalf("%d stored events", len(a.Events))
	}
	during(t, relay, map[string]state{"old": stateOf(old), "then": stateOf(then)}, func(func(string)) {
		rig.Engramd(t, relay, restore...)
		// A reader that gets the first event of the new state can read all of it.
		want := stateOf(then)
		for i := range memories {
			ev := live.MustLive(a.Sub)
			if !want[ev.ID] {
				t.Fatalf("live event %d comes twice, or is of no state", i)
			}
			delete(want, ev.ID)
			if i == 0 {
				if all := rig.Dial(t, relay, agent).MustQuery(everything()); !maps.Equal(stateOf(all.Events), stateOf(then)) {
					t.Errorf("after the first live event: %d stored", len(all.Events))
				}
			}
		}
	})
	live.MustSend("CLOSE", a.Sub)

	engramdWith(jsonLines(newer), "import")
	during(t, relay, map[string]state{"then": stateOf(then), "newer": stateOf(newer)}, func(see func(string)) {
		for round := range rounds {
			if round%2 == 0 {
				rig.Engramd(t, relay, append(restore, "--rollback", "--no-auto-pre-snapshot")...)
			} else {
				engramdWith(jsonLines(then), "import", "--replace")
			}
			see("then") // or it may be gone again before a reader on a busy machine has come
			var kept []snapshots.Quarantine
			if err := json.NewDecoder(bytes.NewBufferString(rig.Engramd(t, relay, "snapshot", "quarantine", "--json"))).Decode(&kept); err != nil || len(kept) != 1 {
				t.Fatalf("%d quarantines, %v", len(kept), err)
			}
			rig.Engramd(t, relay, "snapshot", "quarantine", "release", kept[0].Name)
		}
	})
}
