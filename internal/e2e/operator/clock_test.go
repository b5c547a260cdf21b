package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// wrongClock is a relay, stopped and started again, whose clock is wrong by what a
// file says.
type wrongClock struct {
	t     *testing.T
	file  string
	data  string
	relay *relaytest.Child
}

const keepsForAMonth = "[history]\ndays = 30\n[snapshot]\nmax_age_days = 30\n[contracts]\nany_id = true\n[retention]\nrules = [\"7 30d\"]\n"

func (w *wrongClock) set(wrong time.Duration) {
	w.t.Helper()
	if err := os.WriteFile(w.file, []byte(wrong.String()), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wrongClock) start() *rig.Peer {
	w.t.Helper()
	w.relay = relaytest.Start(w.t, relaytest.Options{
		Build: relaytest.Build{Tags: relaytest.Tags + " engramd_faults"}, Data: w.data, Config: keepsForAMonth, Env: []string{"ENGRAM_CLOCK=@" + w.file},
	})
	return rig.Dial(w.t, w.relay) // without AUTH, for which clocks must agree
}

func (w *wrongClock) stop() {
	w.t.Helper()
	if code, _ := w.relay.Stop(); code != 0 {
		w.t.Fatalf("it ends with %d", code)
	}
}

// jumps wants so many, told once each, and a clock that is confirmed or not.
func (w *wrongClock) jumps(n int, confirmed bool) {
	w.t.Helper()
	const told = "the clock is not what was expected"
	if n > 0 {
		rig.AwaitLog(w.t, w.relay, told)
	}
	jumps, err := w.relay.Metric("engramd_clock_jumps_total")
	if got := strings.Count(w.relay.Log.Text(), told); err != nil || int(jumps) != n || got != n {
		w.t.Errorf("%v jumps counted, %d told of, want %d (%v)", jumps, got, n, err)
	}
	if text := rig.Engramd(w.t, w.relay, "status"); strings.Contains(text, "clock NOT CONFIRMED") == confirmed {
		w.t.Errorf("want confirmed %v:\n%s", confirmed, text)
	}
}

func (w *wrongClock) ready(status int) {
	w.t.Helper()
	rig.Await(w.t, fmt.Sprint("/readyz: ", status), func() bool { // it asks once a second
		r, err := w.relay.Do(http.MethodGet, "/readyz", nil, nil)
		return err == nil && r.Status == status && (status == 200 || strings.Contains(string(r.Body), "the clock is behind"))
	})
}

// TestClock: a clock that is wrong for a while, at a start and while the relay runs,
// ends no contract and removes no event, version or snapshot.
func TestClock(t *testing.T) {
	const day = 24 * time.Hour
	dir := t.TempDir()
	w := &wrongClock{t: t, file: filepath.Join(dir, "wrong"), data: filepath.Join(dir, "data")}
	w.set(0)
	p := w.start()
	r, err := w.relay.Do(http.MethodGet, "/", nil, http.Header{"Accept": {"application/nostr+json"}})
	if err != nil {
		t.Fatal(err)
	}
	var self struct{ Self string }
	if err := json.Unmarshal(r.Body, &self); err != nil || self.Self == "" {
		t.Fatalf("%v: %s", err, r.Body)
	}
	agent, owner := relaytest.Agent(), relaytest.Owner()
	now := rig.Now() - 100
	const contract = "a-contract"
	state := func(k, other relaytest.Key, status, previous string, at int64, terms ...nostr.Tag) *nostr.Event {
		s := relaytest.State(k, other.Pub, contract, status, previous, at)
		return relaytest.Sign(k, s.Kind, at, s.Content, append(s.Tags, terms...)...)
	}
	terms := []nostr.Tag{{"expirer", self.Self}, {"deadline", fmt.Sprint(now + 30*86400)}}
	first := relaytest.Memory(agent, owner.Pub, "mem/a", "one", now)
	stored := []*nostr.Event{
		first, relaytest.Memory(agent, owner.Pub, "mem/a", "two", now+1),
		relaytest.Memory(agent, owner.Pub, "mem/b", "expires", now, nostr.Tag{"expiration", fmt.Sprint(now + 30*86400)}),
		relaytest.Sign(agent, 7, now, "+"),
		state(agent, owner, "open", "", now, terms...), state(owner, agent, "accepted", "open", now+1, terms...),
	}
	p.Store(stored[0])
	rig.Engramd(t, w.relay, "snapshot", "create", "--agent", agent.Pub)
	p.Store(stored[1:]...)
	rig.Engramd(t, w.relay, "snapshot", "create", "--agent", agent.Pub)
	snapshots := rig.Engramd(t, w.relay, "snapshot", "list")
	submitted := state(owner, agent, "submitted", "accepted", now+2)
	expiring := relaytest.Memory(agent, owner.Pub, "mem/b", "expires later", now+3)
	w.jumps(0, true)

	whole := func() {
		t.Helper()
		have := rig.Exported(t, w.relay, "--history")
		for _, ev := range stored {
			if have[ev.ID] == nil {
				t.Errorf("an event of kind %d is gone", ev.Kind)
			}
		}
		for _, ev := range have {
			if ev.PubKey == self.Self {
				t.Errorf("the relay has decided: %s", ev.Content)
			}
		}
		if got := rig.Engramd(t, w.relay, "snapshot", "list"); got != snapshots {
			t.Errorf("snapshots\n%swere\n%s", got, snapshots)
		}
	}
	doubted := func(p *rig.Peer, ev *nostr.Event) {
		t.Helper()
		if ok := p.MustPublish(ev); ok.True || ok.Message != "error: clock not confirmed" {
			t.Errorf("kind %d: %+v", ev.Kind, ok)
		}
	}
	// shown is an event that only this wrong clock lets in, and what waits for the
	// right one.
	shown := func(p *rig.Peer, ahead time.Duration) {
		t.Helper()
		p.Store(relaytest.Note(agent, rig.Now()+int64((ahead-day)/time.Second), fmt.Sprint("by the clock ", ahead)))
		doubted(p, submitted)
		doubted(p, expiring)
	}
	w.set(400 * day)
	shown(p, 400*day)
	w.jumps(1, false)
	w.ready(200)
	w.set(0)
	p.Store(relaytest.Note(agent, now+4, "the right clock again"))
	w.jumps(1, true)
	w.stop()
	whole()

	w.set(60 * day)
	p = w.start()
	shown(p, 60*day)
	w.jumps(1, false)
	w.stop()
	whole()

	w.set(0)
	p = w.start()
	w.jumps(0, true)
	whole()
	p.Store(submitted, expiring)

	w.set(-365 * day)
	w.ready(503)
	rig.AwaitLog(t, w.relay, "the clock is behind")
	w.jumps(1, false)
	doubted(p, relaytest.Note(agent, rig.Now(), "from the future"))
	rig.Engramd(t, w.relay, "clock", "accept")
	w.ready(200)
	w.jumps(1, true)
	p.Refused(relaytest.Note(agent, rig.Now(), "from the future"), "invalid:")
}
