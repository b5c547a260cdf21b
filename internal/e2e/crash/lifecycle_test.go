package crash

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestLifecycle_Ready: the ready line is as tests and operators rely on, and
// the URLs in it work, with port 0 for both listeners.
func TestLifecycle_Ready(t *testing.T) {
	relay := rig.Start(t)
	if strings.HasSuffix(relay.URL, ":0") || !strings.HasPrefix(relay.Metrics, "http://127.0.0.1:") || !strings.HasSuffix(relay.Metrics, "/metrics") {
		t.Errorf("ready with url %q and metrics %q", relay.URL, relay.Metrics)
	}
	rig.Dial(t, relay)
	if n, err := relay.Metric("engramd_connections"); err != nil || n != 1 {
		t.Errorf("engramd_connections %v, %v; want 1", n, err)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		rig.Await(t, path, func() bool { // the disk may take longer than a probe waits
			resp, err := http.Get(relay.HTTP(path))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			return resp.StatusCode == http.StatusOK
		})
	}
	// Metrics are on their own listener only.
	resp, err := http.Get(relay.HTTP("/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("/metrics on the relay's port: HTTP %d, want 404", resp.StatusCode)
	}
}

// TestLifecycle_DataFolderIsPrivate checks the modes of all files that the
// daemon makes.
func TestLifecycle_DataFolderIsPrivate(t *testing.T) {
	relay := rig.Start(t)
	rig.Dial(t, relay).Store(relaytest.Note(relaytest.Agent(), rig.Now(), "makes a WAL"))
	files := 0
	err := filepath.WalkDir(relay.Data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", d.Name(), got, want)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("data folder: %d files, %v", files, err)
	}
}

// TestLifecycle_GracefulShutdown ends a relay while several clients publish
// without waiting: what it acknowledged is kept, every client gets 1001, and it
// exits with 0 in time.
func TestLifecycle_GracefulShutdown(t *testing.T) {
	for n := 1; !endsGracefully(t); n++ { // on a busy machine the time may be too short: again
		if n == 5 {
			t.Fatalf("%d relays did not end within 10 s", n)
		}
	}
}

// endsGracefully reports whether the relay ended in time.
func endsGracefully(t *testing.T) bool {
	relay := rig.Start(t, "ENGRAMD_TIMEOUTS_SHUTDOWN=10s") // the default
	const writers = 4
	type outcome struct {
		acked []string
		code  int
		err   error
	}
	outcomes := make([]outcome, writers)
	started := make(chan struct{}, writers*100_000)
	var publishing sync.WaitGroup
	for i := range writers {
		c := rig.Dial(t, relay)
		k := relaytest.NewKey(uint64(700 + i))
		publishing.Go(func() {
			o := &outcomes[i]
			go func() {
				for n := int64(0); ; n++ {
					if c.Send("EVENT", relaytest.Note(k, rig.Now()-100_000+n, "until the end")) != nil {
						return
					}
				}
			}()
			for {
				f, err := c.Wait(relaytest.Labelled("OK"))
				if err != nil {
					break
				}
				if ok := f.OK(); ok.True {
					o.acked = append(o.acked, ok.ID)
				}
				select {
				case started <- struct{}{}:
				default:
				}
			}
			o.code, o.err = c.CloseCode()
		})
	}
	for range writers * 20 {
		<-started
	}
	code, took := relay.Stop()
	publishing.Wait()
	if took > 7*time.Second { // clients are cut off after 8, all else after 10
		t.Logf("exit code %d after %v\n%s", code, took, relay.Log.Text())
		return false
	}
	if code != 0 {
		t.Errorf("exit code %d after %v, want 0\n%s", code, took, relay.Log.Text())
	}
	held := rig.Exported(t, relay)
	total := 0
	for i, o := range outcomes {
		if o.err != nil || o.code != websocket.CloseGoingAway {
			t.Errorf("writer %d: close code %d, %v; want 1001", i, o.code, o.err)
		}
		for _, id := range o.acked {
			if total++; held[id] == nil {
				t.Errorf("writer %d: an acknowledged event is lost", i)
			}
		}
	}
	t.Logf("%d events acknowledged, exit after %v", total, took)
	if wal, err := os.Stat(filepath.Join(relay.Data, "engramd.db-wal")); err == nil && wal.Size() > 0 {
		t.Errorf("the WAL has %d bytes after a graceful end: no checkpoint", wal.Size())
	}
	c := rig.Dial(t, rig.Again(t, relay))
	c.Store(relaytest.Note(relaytest.Agent(), rig.Now(), "writable after a restart"))
	return true
}

// TestLifecycle_SecondSignalEndsAtOnce slows the disk so that a graceful end
// takes long, and signals again: a signal within a second of the first counts
// as the same, a later one ends it at once.
func TestLifecycle_SecondSignalEndsAtOnce(t *testing.T) {
	syncs := rig.WatchFsyncs(t)
	const graceful, atOnce = 10 * time.Minute, 30 * time.Second
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: append(syncs.Env, "ENGRAMD_TIMEOUTS_SHUTDOWN="+graceful.String())})
	c := rig.Dial(t, relay)
	ev := relaytest.Note(relaytest.Agent(), rig.Now(), "in flight")
	syncs.Delay(uint64(graceful.Microseconds()))
	before := syncs.Calls()
	c.MustSend("EVENT", ev)
	rig.Await(t, "the sync of the write in flight", func() bool { return syncs.Calls() > before })
	relay.Signal(syscall.SIGTERM)
	awaitDraining(t, relay)
	start := time.Now()
	rig.Await(t, "the end", func() bool {
		relay.Signal(syscall.SIGTERM)
		select {
		case <-relay.Done():
			return true
		default:
			return false
		}
	})
	if code := relay.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if took := time.Since(start); took > atOnce {
		t.Errorf("ended %v after the second signal", took)
	}
}

// TestLifecycle_TwoSignalsAtOnceAreOne: a supervisor that signals both the
// process and its group does not cut a graceful end short.
func TestLifecycle_TwoSignalsAtOnceAreOne(t *testing.T) {
	for n := 1; !twoSignalsAreOne(t); n++ { // on a busy machine a second may pass between them: again
		if n == 5 {
			t.Fatal("the second signal counts each time")
		}
	}
}

// twoSignalsAreOne reports whether the second signal did not count.
func twoSignalsAreOne(t *testing.T) bool {
	syncs := rig.WatchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: syncs.Env})
	c := rig.Dial(t, relay)
	c.Store(relaytest.Note(relaytest.Agent(), rig.Now()-1, "what a start writes is behind it"))
	ev := relaytest.Note(relaytest.Agent(), rig.Now(), "in flight")
	syncs.Delay(uint64(2 * time.Second / time.Microsecond))
	before := syncs.Calls()
	c.MustSend("EVENT", ev)
	rig.Await(t, "the sync of the write in flight", func() bool { return syncs.Calls() > before })
	relay.Signal(syscall.SIGTERM)
	relay.Signal(syscall.SIGINT) // another one than the first, because the kernel might merge equal ones
	syncs.Delay(0)
	code := relay.Exit()
	if text := relay.Log.Text(); code != 0 && strings.Contains(text, "ended by a second signal") {
		t.Log(text)
		return false
	} else if code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, text)
	}
	f, err := c.Wait(relaytest.Labelled("OK"))
	if err != nil || !f.OK().True {
		t.Errorf("the write in flight was not answered: %v", err)
	}
	return true
}

// awaitDraining waits until new connections are no longer accepted.
func awaitDraining(t *testing.T, relay *relaytest.Child) {
	t.Helper()
	rig.Await(t, "the end of accepting", func() bool {
		c, err := relaytest.Connect(relay.URL, nil)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

// TestLifecycle_Reload changes the configuration under open connections.
func TestLifecycle_Reload(t *testing.T) {
	config := func(text string) string { return "[limits]\nsubscriptions = 2\n" + text }
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: config("")})
	c := rig.Dial(t, relay)
	filter := relaytest.Filter{"kinds": []int{1}, "limit": 0}
	open := c.MustSubscribe(filter)
	wildcard := relaytest.Filter{"limit": 1}
	c.Closed("auth-required: ", wildcard)

	reload := func(text string) {
		t.Helper()
		if err := os.WriteFile(relay.Config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		seen, err := relay.Metric("engramd_config_reloads_total")
		if err != nil {
			t.Fatal(err)
		}
		relay.Signal(syscall.SIGHUP)
		if _, err := relay.AwaitMetric("engramd_config_reloads_total", relaytest.Patience, func(n float64) bool { return n > seen }); err != nil {
			t.Fatalf("SIGHUP: %v\n%s", err, relay.Log.Text())
		}
	}
	banned := relaytest.NewKey(710)
	reload(fmt.Sprintf("[gate]\nwildcard = \"exclude\"\n[write]\nban_authors = [%q]\n[log]\nformat = \"json\"\n", banned.Pub))
	c.MustQuery(wildcard)
	c.Refused(relaytest.Note(banned, rig.Now(), "banned since"), "blocked: ")
	for range 5 { // the limit of 2 is gone
		if a := c.MustSubscribe(filter); !a.EOSE {
			t.Errorf("subscription after the reload: CLOSED %q", a.Closed)
		}
	}
	rig.AwaitLog(t, relay, "log.format") // which cannot change live
	ev := relaytest.Note(relaytest.Agent(), rig.Now(), "over the connection from before")
	c.Store(ev)
	if got := c.MustLive(open.Sub); got.ID != ev.ID {
		t.Errorf("live after a reload: %s", got.ID)
	}

	// An invalid file changes nothing, and the log names it.
	reload("[gate]\nwildcard = \"nonsense\"\n")
	c.MustQuery(wildcard)
	c.Refused(relaytest.Note(banned, rig.Now(), "still banned"), "blocked: ")
	rig.AwaitLog(t, relay, "nonsense", "gate.wildcard")
}

// TestLifecycle_ReloadOfTheGateReachesOpenSubscriptions: live delivery follows
// the rules in force at the moment of delivery.
func TestLifecycle_ReloadOfTheGateReachesOpenSubscriptions(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: "[gate]\ncontracts = \"public\"\n"})
	agent, owner := relaytest.Agent(), relaytest.Owner()
	c, other := rig.Dial(t, relay), rig.Dial(t, relay)
	open := c.MustSubscribe(relaytest.Filter{"kinds": []int{relaytest.KindEntry}})
	notes := c.MustSubscribe(relaytest.Filter{"kinds": []int{1}})
	first := relaytest.Entry(agent, owner.Pub, "reloaded", "note", "public", rig.Now()-10)
	other.Store(first)
	if got := c.MustLive(open.Sub); got.ID != first.ID {
		t.Errorf("live %s, want %s", got.ID, first.ID)
	}
	if err := os.WriteFile(relay.Config, []byte("[gate]\ncontracts = \"parties\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	relay.Signal(syscall.SIGHUP)
	if _, err := relay.AwaitMetric("engramd_config_reloads_total", relaytest.Patience, func(n float64) bool { return n > 0 }); err != nil {
		t.Fatal(err)
	}
	marker := relaytest.Note(agent, rig.Now(), "after the entry")
	other.Store(relaytest.Entry(agent, owner.Pub, "reloaded", "note", "for parties only now", rig.Now()-9), marker)
	if got := c.MustLive(notes.Sub); got.ID != marker.ID {
		t.Errorf("marker: %s", got.ID)
	}
	for _, f := range c.Waiting() {
		if f.Label == "EVENT" {
			t.Errorf("delivered under rules that no longer hold: %s", f.Raw)
		}
	}
}
