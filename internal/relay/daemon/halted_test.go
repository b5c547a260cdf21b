package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/doctor"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/ingest/ingesttest"
	"engramd/internal/relay/store/sqlite/engine"
)

// haltedIn is a node of a folder that has just halted.
func haltedIn(t *testing.T, why error) (h *halted, signals chan os.Signal) {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.Cluster.Enabled = t.TempDir(), true
	id := membership.Identity{Cluster: cluster.ClusterID{1}, Node: cluster.NodeID{2}, Boot: 1}
	if err := errors.Join(engine.PrepareDir(cfg.Data), id.Save(cfg.Data)); err != nil {
		t.Fatal(err)
	}
	signals = make(chan os.Signal, 1)
	h, err := haltedBefore(Options{Config: cfg, Stderr: io.Discard, Signals: signals})
	if err != nil || h.why != nil {
		t.Fatalf("%v, %v", h.why, err)
	}
	h.why = why
	return h, signals
}

type ended struct {
	again bool
	err   error
}

// staying has it stay, and returns when its control socket answers.
func staying(t *testing.T, h *halted) <-chan ended {
	t.Helper()
	done := make(chan ended, 1)
	go func() {
		again, err := h.stay(t.Context())
		done <- ended{again, err}
	}()
	for {
		_, err := control.Ask(t.Context(), h.dir, orders.Status, nil, nil)
		if unreachable := new(control.UnreachableError); !errors.As(err, &unreachable) {
			if err == nil || !strings.Contains(err.Error(), h.why.Error()) || !strings.Contains(err.Error(), "engramd cluster recover") {
				t.Errorf("what is asked is answered %v", err)
			}
			return done
		}
		select {
		case e := <-done:
			t.Fatalf("%+v", e)
		default:
		}
	}
}

// A node that halted stays up until a signal, takes no import, and has halted before
// when it is started again.
func TestHaltedStays(t *testing.T) {
	h, signals := haltedIn(t, fmt.Errorf("message 7: %w", cluster.ErrWentBack))
	done := staying(t, h)
	if _, err := engine.Lock(h.dir); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("the folder is free: %v", err)
	}
	line := bytes.NewReader(ingesttest.Line(t, 1, "x"))
	if _, err := control.Import(t.Context(), h.dir, false, line, &ingesttest.Reports{}); err == nil || !strings.Contains(err.Error(), "message 7") {
		t.Errorf("an import: %v", err)
	}
	signals <- syscall.SIGHUP // reloads, where there is something to reload
	signals <- syscall.SIGTERM
	if e := <-done; e.again || e.err != nil {
		t.Errorf("%+v", e)
	}
	before, err := haltedBefore(h.o)
	if err != nil || before.why == nil || !strings.Contains(before.why.Error(), "message 7") {
		t.Errorf("at the next start %v, %v", before, err)
	}
	if halt, err := membership.ReadHalt(h.dir); err != nil || halt.Cluster != (cluster.ClusterID{1}).String() {
		t.Errorf("%+v, %v", halt, err)
	}
	h.o.Config.Cluster.Enabled = false
	if alone, err := haltedBefore(h.o); err != nil || alone.why != nil {
		t.Errorf("a relay that is alone: %v, %v", alone.why, err)
	}
}

// Its folder is lent to one recovery, and when that has gone, however, the node may be
// started again.
func TestHaltedLends(t *testing.T) {
	h, _ := haltedIn(t, cluster.ErrLogs)
	done := staying(t, h)
	ctx, hangUp := context.WithCancel(t.Context())
	free, asked := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := control.Ask(ctx, h.dir, orders.Recover, nil, func(json.RawMessage) { close(free) })
		asked <- err
	}()
	<-free
	lock, err := engine.Lock(h.dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := control.Ask(t.Context(), h.dir, orders.Recover, nil, func(json.RawMessage) { t.Error("it is lent twice") }); err == nil || !strings.Contains(err.Error(), "another recovery") {
		t.Errorf("a second one: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	hangUp()
	<-asked
	if e := <-done; !e.again || e.err != nil {
		t.Errorf("%+v", e)
	}
	if lock, err = engine.Lock(h.dir); err != nil {
		t.Fatalf("the folder is not free for the start: %v", err)
	}
	if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}

// A recovery that was killed may hold the folder for a moment after it has gone: the node
// waits for it, and starts again.
func TestHaltedTakesTheFolderBack(t *testing.T) {
	h, _ := haltedIn(t, cluster.ErrLogs)
	held := make(chan *engine.DirLock, 1)
	waited := 0
	h.wake = func(d time.Duration) <-chan time.Time {
		if d != tryAgain {
			return nil
		}
		if waited++; waited == 3 {
			if err := (<-held).Unlock(); err != nil {
				t.Error(err)
			}
		}
		due := make(chan time.Time)
		close(due)
		return due
	}
	done := staying(t, h)
	ctx, kill := context.WithCancel(t.Context())
	_, err := control.Ask(ctx, h.dir, orders.Recover, nil, func(json.RawMessage) {
		lock, err := engine.Lock(h.dir)
		if err != nil {
			t.Error(err)
		}
		held <- lock
		kill()
	})
	if err == nil {
		t.Error("it was not killed")
	}
	if e := <-done; !e.again || e.err != nil || waited != 3 {
		t.Errorf("%+v after %d looks", e, waited)
	}
}

// A log that is too short may be a server that is behind: that is not noted, and looked
// at again.
func TestShortLogIsLookedAtAgain(t *testing.T) {
	h, _ := haltedIn(t, fmt.Errorf("%w: it has executed 9", cluster.ErrAhead))
	due := make(chan time.Time, 1)
	h.wake = func(d time.Duration) <-chan time.Time {
		if d == showAgain {
			return nil
		}
		if d != lookAgain {
			t.Errorf("in %v", d)
		}
		return due
	}
	due <- time.Time{}
	if again, err := h.stay(t.Context()); !again || err != nil {
		t.Errorf("%v, %v", again, err)
	}
	if halt, err := membership.ReadHalt(h.dir); halt != nil || err != nil {
		t.Errorf("it is noted: %+v, %v", halt, err)
	}
}

// Who joined is a node again, which has something left to import; what cannot be read is
// no node that has not halted.
func TestHaltedBefore(t *testing.T) {
	h, _ := haltedIn(t, nil)
	if err := (&membership.Halt{Cluster: "01", Joined: true, Import: []string{"own.jsonl"}}).Save(h.dir); err != nil {
		t.Fatal(err)
	}
	if again, err := haltedBefore(h.o); err != nil || again.why != nil {
		t.Errorf("%v, %v", again, err)
	}
	if err := os.WriteFile(h.dir+"/"+membership.HaltFile, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := haltedBefore(h.o); err == nil || !strings.Contains(err.Error(), "is not as it was written") {
		t.Errorf("%v", err)
	}
	if err := errors.Join(membership.Over(h.dir), membership.Over(h.dir)); err != nil {
		t.Error(err)
	}
}

// What needs a person halts a node; what a start, room or another program mends ends it.
func TestHalts(t *testing.T) {
	for _, err := range []error{cluster.ErrWentBack, cluster.ErrOtherLog, cluster.ErrLogs, cluster.ErrDiffers, cluster.ErrDisagree, jetstream.ErrReplaced} {
		if !halts(errors.Join(fmt.Errorf("message 3: %w", err))) {
			t.Errorf("%v does not", err)
		}
	}
	for _, err := range []error{nil, cluster.ErrStruck, cluster.ErrTwice, cluster.ErrOld, cluster.ErrTrimmed, cluster.ErrUnknown, jetstream.ErrRefused, context.Canceled} {
		if halts(err) {
			t.Errorf("%v does", err)
		}
	}
}

// Answers by an earlier connection may be under way when the next one begins.
func TestHaltedSaysByEachConnection(t *testing.T) {
	h, _ := haltedIn(t, cluster.ErrWentBack)
	v := h.vitals(t.Context(), membership.Identity{Node: cluster.NodeID{2}})
	first, done := h.says(v, "first"), make(chan struct{})
	given := func(answer []byte) string {
		n, err := doctor.Parse(answer, time.Now())
		if err != nil || !n.Halted || n.Clock.IsZero() || n.Free == 0 {
			t.Errorf("%+v, %v", n, err)
		}
		return n.Gives
	}
	go func() {
		defer close(done)
		if got := given(first(nil)); got != "first" {
			t.Errorf("the first connection gives by %q", got)
		}
	}()
	if got := given(h.says(v, "second")(nil)); got != "second" {
		t.Errorf("the second connection gives by %q", got)
	}
	<-done
	if got := given(first(nil)); got != "first" {
		t.Errorf("the first connection gives by %q", got)
	}
}
