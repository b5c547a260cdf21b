package crash

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// fill publishes until a write fails, and returns what was acknowledged and
// the event that was not. It fails the test when the disk never fills.
func fill(t *testing.T, c *rig.Peer, k relaytest.Key, size, most int) (stored []*nostr.Event, failed *nostr.Event) {
	t.Helper()
	base := rig.Now() - 100_000
	text := strings.Repeat("x", size)
	for i := range most {
		ev := relaytest.Note(k, base+int64(i), fmt.Sprintf("%d %s", i, text))
		ok := c.MustPublish(ev)
		if ok.True {
			stored = append(stored, ev)
			continue
		}
		rig.WantRefusal(t, "a write on a full disk", ok, "error: ")
		return stored, ev
	}
	t.Fatalf("%d events of %d bytes fit: the disk is not as small as it should be", most, size)
	return nil, nil
}

// wantFullDisk checks a relay without room: every write fails with error:,
// every read works, nothing acknowledged is gone.
func wantFullDisk(t *testing.T, c *rig.Peer, k relaytest.Key, stored []*nostr.Event, failed *nostr.Event) {
	t.Helper()
	rig.WantRefusal(t, "the same write again", c.MustPublish(failed), "error: ")
	big := relaytest.Note(k, rig.Now(), strings.Repeat("y", 100_000))
	rig.WantRefusal(t, "a larger write", c.MustPublish(big), "error: ")
	wantHeld(t, c, k, stored)
	if n := c.MustCount(relaytest.Filter{"authors": []string{k.Pub}}); n != int64(len(stored)) {
		t.Errorf("COUNT on a full disk: %d, want %d", n, len(stored))
	}
	rig.WantIDs(t, "what was not acknowledged", c.MustQuery(rig.ByID(failed, big)).IDs(), nil)
}

// wantHeld fails unless the relay has exactly these events of the author, read
// page by page.
func wantHeld(t *testing.T, c *rig.Peer, k relaytest.Key, stored []*nostr.Event) {
	t.Helper()
	held := map[string]bool{}
	until := int64(1) << 40
	for {
		a := c.MustQuery(relaytest.Filter{"authors": []string{k.Pub}, "until": until, "limit": 500})
		for _, ev := range a.Events {
			held[ev.ID] = true
			until = int64(ev.CreatedAt) - 1 // one event a second
		}
		if len(a.Events) == 0 {
			break
		}
	}
	for _, ev := range stored {
		if !held[ev.ID] {
			t.Errorf("acknowledged and not held: %s", ev.Content[:20])
		}
	}
	if len(held) != len(stored) {
		t.Errorf("%d events are held, %d were acknowledged", len(held), len(stored))
	}
}

// TestDiskFull_PageLimit fills the database up to SQLite's page limit.
func TestDiskFull_PageLimit(t *testing.T) {
	k := relaytest.NewKey(401)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: "[gate]\nwildcard = \"exclude\"\n[store]\nmax_bytes = \"2MiB\"\n"})
	c := rig.Dial(t, relay)
	open := c.MustSubscribe(relaytest.Filter{"kinds": []int{1}, "authors": []string{k.Pub}, "limit": 0})
	stored, failed := fill(t, c, k, 4000, 2000)
	for _, ev := range stored { // what was delivered live is what was stored
		if got := c.MustLive(open.Sub); got.ID != ev.ID {
			t.Fatalf("live %s, want %s", got.ID, ev.ID)
		}
	}
	c.MustSend("CLOSE", open.Sub)
	wantFullDisk(t, c, k, stored, failed)
	wantReady(t, relay, 503)
	wantQuietLog(t, relay, c, k)
	if left := c.Waiting(); len(left) != 0 {
		t.Errorf("a write that failed was delivered: %.200s", left[0].Raw)
	}

	// More room without a restart: SIGHUP reads the limit again.
	raise := "[gate]\nwildcard = \"exclude\"\n[store]\nmax_bytes = \"8MiB\"\n"
	if err := os.WriteFile(relay.Config, []byte(raise), 0o600); err != nil {
		t.Fatal(err)
	}
	relay.Signal(syscall.SIGHUP)
	awaitStored(t, c, failed)
	stored = append(stored, failed)
	wantHeld(t, c, k, stored)
	wantReady(t, relay, 200)

	relay.Kill()
	c = rig.Dial(t, rig.Again(t, relay, rig.Exclude))
	wantHeld(t, c, k, stored)
	c.Store(relaytest.Note(k, rig.Now(), "after a restart without a limit"))
}

// wantReady waits until /readyz, the metric and the store agree.
func wantReady(t *testing.T, relay *relaytest.Child, want int) {
	t.Helper()
	rig.Await(t, fmt.Sprint("/readyz ", want), func() bool { // it asks the database once a second
		r, err := relay.Do("GET", "/readyz", nil, nil)
		return err == nil && r.Status == want
	})
	metric := "engramd_ready 0"
	if want == 200 {
		metric = "engramd_ready 1"
	}
	rig.Await(t, fmt.Sprintf("/readyz says %d, the metric %q", want, metric), func() bool {
		return strings.Contains(scraped(t, relay), metric)
	})
}

// scraped returns the metrics.
func scraped(t *testing.T, relay *relaytest.Child) string {
	t.Helper()
	resp, err := http.Get(relay.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantQuietLog publishes what does not fit a hundred times: the log gets no
// line for each, and the metric counts them.
func wantQuietLog(t *testing.T, relay *relaytest.Child, c *rig.Peer, k relaytest.Key) {
	t.Helper()
	before := strings.Count(relay.Log.Text(), "\n")
	for i := range int64(100) {
		rig.WantRefusal(t, "a write on a full disk", c.MustPublish(relaytest.Note(k, rig.Now()-i, strings.Repeat("z", 100_000))), "error: ")
	}
	// One line at once and one a minute; the test may span a minute or two.
	if lines := strings.Count(relay.Log.Text(), "\n") - before; lines > 5 {
		t.Errorf("100 writes that do not fit left %d lines in the log:\n%s", lines, relay.Log.Text())
	}
	if text := scraped(t, relay); !regexp.MustCompile(`(?m)^engramd_write_failures_total{cause="full"} [1-9][0-9]{2}`).MatchString(text) {
		t.Error("the metric does not count what had no room")
	}
}

// awaitStored publishes an event until the relay accepts it, because the end of
// a reload is not announced on the wire.
func awaitStored(t *testing.T, c *rig.Peer, ev *nostr.Event) {
	t.Helper()
	rig.Await(t, "a write where there is room again", func() bool {
		ok := c.MustPublish(ev)
		if !ok.True {
			rig.WantRefusal(t, "before there is room", ok, "error: ")
		}
		return ok.True
	})
}

// TestDiskFull_DeletionMakesRoom: on a relay at its page limit authors can make
// room themselves, because a deletion needs little and what it frees is used.
func TestDiskFull_DeletionMakesRoom(t *testing.T) {
	k := relaytest.NewKey(402)
	relay := rig.Start(t, rig.Exclude, "ENGRAMD_STORE_MAX_BYTES=2MiB")
	c := rig.Dial(t, relay)
	stored, failed := fill(t, c, k, 4000, 2000)
	for n, ev := range stored {
		if ok := c.MustPublish(relaytest.Deletion(k, rig.Now(), rig.Tag("e", ev.ID), rig.Tag("k", "1"))); !ok.True {
			t.Fatalf("deletion %d at the page limit: OK false %q", n+1, ok.Message)
		}
		if ok := c.MustPublish(failed); ok.True {
			rig.WantIDs(t, "what took the room", c.MustQuery(rig.ByID(failed)).IDs(), rig.IDs(failed))
			return
		}
	}
	t.Errorf("all %d events are deleted, and there is still no room", len(stored))
}

// TestDiskFull_Tmpfs does the same on a full file system, in a mount namespace
// of its own.
func TestDiskFull_Tmpfs(t *testing.T) {
	if os.Getenv(rig.InNamespace) == "" {
		rig.RerunInNamespace(t)
		return
	}
	dir := t.TempDir()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println(rig.NoMount, err)
		return
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		fmt.Println(rig.NoMount, err)
		return
	}
	fmt.Println(rig.Mounted)
	defer func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	}()
	k := relaytest.NewKey(403)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Data: filepath.Join(dir, "data"), Env: []string{rig.Exclude}})
	c := rig.Dial(t, relay)

	// Another file takes the room; removing that file is enough.
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatalf("ballast: %v", err)
	}
	stored, failed := fill(t, c, k, 4000, 4000)
	wantFullDisk(t, c, k, stored, failed)
	wantReady(t, relay, 503)
	wantQuietLog(t, relay, c, k)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	awaitStored(t, c, failed)
	stored = append(stored, failed)
	wantHeld(t, c, k, stored)
	wantReady(t, relay, 200)

	more, last := fill(t, c, relaytest.NewKey(404), 4000, 4000)
	wantFullDisk(t, c, relaytest.NewKey(404), more, last)
	relay.Kill()
	if err := os.WriteFile(ballast, nil, 0o600); err != nil {
		t.Logf("not even an empty file fits, as intended: %v", err)
	}
	if r := relay.Run(nil, "check", "--data", relay.Data); r.Code != 0 {
		t.Errorf("engramd check on a full disk: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	c = rig.Dial(t, rig.Again(t, relay, rig.Exclude))
	wantHeld(t, c, k, stored)
	wantHeld(t, c, relaytest.NewKey(404), more)
}
