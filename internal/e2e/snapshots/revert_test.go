package snapshots

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/memory/snapshots"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// revertRounds is how often a restore is killed.
func revertRounds() int {
	if rig.Soak() {
		return 100
	}
	return 12
}

// ctl is engramctl beside a client library with the same key.
type ctl struct {
	*rig.Ctl
	agent *memory.Memory
	c     *client.Client
}

func newCtl(t testing.TB, relay *relaytest.Child) *ctl {
	t.Helper()
	x := &ctl{Ctl: rig.NewCtl(t, relay)}
	id, err := client.NewIdentity(relaytest.Agent().Secret)
	if err != nil {
		t.Fatal(err)
	}
	x.c = client.New(id, client.Options{Relays: []string{relay.URL}, Timeout: time.Minute})
	t.Cleanup(x.c.Close)
	if x.agent, err = memory.AsAgent(x.c, relaytest.Owner().Pub); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *ctl) folder() string {
	return filepath.Join(x.Root(), "tenants", bundle.DefaultTenant, "snapshots", relaytest.Agent().Pub)
}

// set writes a text, or removes it if it is "".
func (x *ctl) set(slug nipae.Slug, text string) {
	x.T.Helper()
	var err error
	if text == "" {
		_, _, err = x.agent.Remove(x.T.Context(), slug, false)
	} else {
		_, _, err = x.agent.Set(x.T.Context(), slug, text, memory.SetOptions{})
	}
	if err != nil {
		x.T.Fatalf("%s: %v", slug, err)
	}
}

// texts returns the current texts.
func (x *ctl) texts() map[nipae.Slug]string {
	x.T.Helper()
	l, status, err := x.agent.ListAll(x.T.Context())
	if err != nil || status.Partial {
		x.T.Fatalf("list: %v, partial %v", err, status.Partial)
	}
	all := map[nipae.Slug]string{}
	if l.Core != nil {
		all[nipae.Core] = l.Core.Text
	}
	for _, e := range l.Memories {
		all[e.Slug] = e.Text
	}
	return all
}

func (x *ctl) create() string {
	x.T.Helper()
	id, _, _ := strings.Cut(x.Run(0, "snapshot", "create"), " ")
	return id
}

// mess changes, removes and adds memories, and the core.
func (x *ctl) mess(random *rand.Rand, round, memories int) {
	x.T.Helper()
	for i := range memories {
		slug := nipae.Slug(fmt.Sprintf("mem/old/%02d", i))
		switch random.IntN(4) {
		case 0, 1:
			x.set(slug, fmt.Sprintf("changed in round %d", round))
		case 2:
			x.set(slug, "")
		}
	}
	for i := range memories / 4 {
		x.set(nipae.Slug(fmt.Sprintf("mem/new/%d/%d", round, i)), "was not there")
	}
	x.set(nipae.Core, fmt.Sprintf("core of round %d", round))
}

// TestRevertKilled: a restore that is killed at any point leaves each slug with
// its old or its new text, and core with the old one unless all is done;
// running it again completes it.
func TestRevertKilled(t *testing.T) {
	const memories = 32
	rounds := revertRounds()
	x := newCtl(t, rig.Start(t))
	for i := range memories {
		x.set(nipae.Slug(fmt.Sprintf("mem/old/%02d", i)), fmt.Sprintf("text %d", i))
	}
	x.set(nipae.Core, "the core")
	id, want := x.create(), x.texts()
	random := rand.New(rand.NewPCG(rig.Seed(t), 5))
	x.mess(random, rounds, memories)
	began := time.Now()
	whole := x.start("snapshot", "restore", "--id", id, "--no-auto-pre-snapshot")
	x.awaitJournal(whole.ended)
	planned := time.Since(began)
	if err := whole.wait(); err != nil {
		t.Fatalf("%v\n%s", err, whole.out)
	}
	full := time.Since(began)
	writing := max(full-planned, 1)
	if got := x.texts(); !equalTexts(got, want) {
		t.Fatalf("after a restore: %v, want %v", got, want)
	}
	midway, round := 0, 0
	for ; round < rounds || midway == 0 && round < 5*rounds; round++ { // a kill may miss the writes
		x.mess(random, round, memories)
		before := x.texts()
		p := x.start("snapshot", "restore", "--id", id, "--no-auto-pre-snapshot")
		// Every fourth is killed at any time, the others during the short time of
		// writing.
		began, span := time.Now(), &full
		if round%4 > 0 {
			x.awaitJournal(p.ended)
			began, span = time.Now(), &writing
		}
		delay := time.Duration(random.Int64N(int64(*span)))
		kill := time.AfterFunc(delay, func() { _ = p.cmd.Process.Kill() })
		err := p.wait()
		kill.Stop()
		if err == nil { // the machine may have been busier when the time was measured
			*span = min(*span, time.Since(began))
		} else if p.cmd.ProcessState.ExitCode() != -1 {
			t.Fatalf("round %d: %v\n%s", round, err, p.out)
		}
		old, changed := 0, 0
		after := x.texts()
		for slug := range union(before, after, want) {
			switch after[slug] {
			case want[slug]:
				if before[slug] != want[slug] {
					changed++
				}
			case before[slug]:
				old++
			default:
				t.Fatalf("round %d: %s is %q: neither %q nor %q", round, slug, after[slug], before[slug], want[slug])
			}
		}
		if after[nipae.Core] == want[nipae.Core] && old > 0 {
			t.Fatalf("round %d: the core is new, and %d others are old", round, old)
		}
		if old > 0 && changed > 0 {
			midway++
		}
		x.Run(0, "snapshot", "restore", "--id", id, "--no-auto-pre-snapshot")
		if got := x.texts(); !equalTexts(got, want) {
			t.Fatalf("round %d: after a second run: %v, want %v", round, got, want)
		}
		if _, err := os.Stat(filepath.Join(x.folder(), snapshots.JournalName)); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("round %d: the journal stays: %v", round, err)
		}
	}
	t.Logf("%d of %d were killed midway, a whole one took %v", midway, round, full)
	if midway == 0 {
		t.Error("none was killed midway: the test shows nothing")
	}
}

// process is a running command.
type process struct {
	cmd   *exec.Cmd
	out   *bytes.Buffer
	err   error // how it ended; see wait
	ended chan struct{}
}

func (x *ctl) start(args ...string) *process {
	x.T.Helper()
	p := &process{ended: make(chan struct{})}
	p.cmd, p.out = x.Command(args...)
	if err := p.cmd.Start(); err != nil {
		x.T.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	return p
}

// wait returns how the process ended.
func (p *process) wait() error {
	<-p.ended
	return p.err
}

// awaitJournal waits until a restore has written its journal or has ended: a
// short restore may be missed.
func (x *ctl) awaitJournal(ended <-chan struct{}) {
	x.T.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Microsecond) {
		if _, err := os.Stat(filepath.Join(x.folder(), snapshots.JournalName)); err == nil {
			return
		}
		select {
		case <-ended:
			return
		default:
		}
		if time.Now().After(deadline) {
			x.T.Fatal("no journal is written")
		}
	}
}

// TestRevertConflict: a restore that continues stops at a slug that was changed
// since it was planned, and writes nothing after it, nor the core; --replan
// begins again.
func TestRevertConflict(t *testing.T) {
	x := newCtl(t, rig.Start(t))
	for _, slug := range []nipae.Slug{"mem/a", "mem/b", "mem/c", nipae.Core} {
		x.set(slug, "then")
	}
	id := x.create()
	for _, slug := range []nipae.Slug{"mem/a", "mem/b", "mem/c", nipae.Core} {
		x.set(slug, "now")
	}
	x.plan(id)
	x.set("mem/b", "meanwhile")
	out := x.Run(5, "snapshot", "restore", "--id", id)
	if !strings.Contains(out, "conflict: mem/b: another version was written") || !strings.Contains(out, "going on with the restore") {
		t.Errorf("%s", out)
	}
	got := x.texts()
	if got["mem/a"] != "then" || got["mem/b"] != "meanwhile" || got["mem/c"] != "now" || got[nipae.Core] != "now" {
		t.Errorf("after a conflict: %v", got)
	}
	if out := x.Run(5, "snapshot", "restore", "--id", x.create()); !strings.Contains(out, id) {
		t.Errorf("another restore while one is unfinished: %s", out)
	}
	x.Run(0, "snapshot", "restore", "--id", id, "--replan")
	for slug, text := range x.texts() {
		if text != "then" {
			t.Errorf("%s is %q", slug, text)
		}
	}
}

// TestRevertGoesOnWithoutItsSnapshot: the journal contains all that is to be
// written, even when the snapshot was deleted; another snapshot is still not
// found, and a dry run needs its snapshot.
func TestRevertGoesOnWithoutItsSnapshot(t *testing.T) {
	x := newCtl(t, rig.Start(t))
	for _, text := range []string{"then", "now"} {
		for _, slug := range []nipae.Slug{"mem/a", "mem/b", nipae.Core} {
			x.set(slug, text)
		}
		if text == "then" {
			x.create()
		}
	}
	list, err := snapshot.New(x.Root()).List(bundle.DefaultTenant, relaytest.Agent().Pub)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	id := list[0].ID
	x.plan(id)
	if err := os.Remove(list[0].Path); err != nil {
		t.Fatal(err)
	}
	x.Run(1, "snapshot", "restore", "--id", id, "--dry-run")
	x.Run(5, "snapshot", "restore", "--id", "20200101T000000Z-0123456789abcdef")
	x.Run(0, "snapshot", "restore", "--id", id)
	for slug, text := range x.texts() {
		if text != "then" {
			t.Errorf("%s is %q", slug, text)
		}
	}
	x.Run(1, "snapshot", "restore", "--id", id)
}

// plan writes the journal of a restore, like a process that is killed right
// afterwards.
func (x *ctl) plan(id string) {
	x.T.Helper()
	ctx := x.T.Context()
	keys, err := bundle.KeysOf(relaytest.Agent().Secret, relaytest.Agent().Pub)
	if err != nil {
		x.T.Fatal(err)
	}
	b, _, err := bundle.Open(ctx, filepath.Join(x.folder(), bundle.FileName(id, false)), bundle.VerifyOptions{Keys: keys})
	if err != nil {
		x.T.Fatal(err)
	}
	now, err := snapshots.Take(ctx, x.c, snapshots.Wanted{Agent: relaytest.Agent().Pub, Whole: true}, time.Now)
	if err != nil {
		x.T.Fatal(err)
	}
	plan, err := snapshots.NewPlan(ctx, b, now, keys)
	if err != nil {
		x.T.Fatal(err)
	}
	steps, err := plan.Steps(ctx, x.c, b, now, keys, nil)
	if err != nil {
		x.T.Fatal(err)
	}
	j := &snapshots.Journal{Agent: relaytest.Agent().Pub, Tenant: bundle.DefaultTenant, Bundle: id, CreatedAt: time.Now(), Steps: steps}
	if err := j.Save(x.folder()); err != nil {
		x.T.Fatal(err)
	}
}

// TestSnapshotLocked: one process at a time works on an agent's snapshots; the
// others wait, and then name it.
func TestSnapshotLocked(t *testing.T) {
	x := newCtl(t, rig.Start(t))
	x.set("mem/a", "text")
	lock, err := snapshot.New(x.Root()).Lock(t.Context(), bundle.DefaultTenant, relaytest.Agent().Pub, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	out := x.Run(5, "snapshot", "create", "--lock-timeout", "50ms")
	if !strings.Contains(out, fmt.Sprintf("held by pid %d", os.Getpid())) {
		t.Errorf("%s", out)
	}
	waiting, text := x.Command("snapshot", "create")
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := waiting.Wait(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestCaptureUnderWrites: a capture while the agent writes shows one instant,
// or reports that it cannot.
func TestCaptureUnderWrites(t *testing.T) {
	x := newCtl(t, rig.Start(t))
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	var missed atomic.Int64 // captures; on a busy machine the pauses must be longer
	go func() {
		// Two memories that are written one after the other: b is at most one behind.
		for n := 1; ctx.Err() == nil; n++ {
			for _, slug := range []nipae.Slug{"mem/a", "mem/b"} {
				if _, _, err := x.agent.Set(ctx, slug, fmt.Sprint(n), memory.SetOptions{}); err != nil && ctx.Err() == nil {
					written <- err
					return
				}
			}
			time.Sleep(time.Duration(n%20+20*int(missed.Load())) * time.Millisecond) // the load that the test is about
		}
		written <- nil
	}()
	taken := 0
	for n := 0; n < 20 || taken == 0 && n < 200; n++ {
		cap, err := snapshots.Take(t.Context(), x.c, snapshots.Wanted{Agent: relaytest.Agent().Pub, Whole: true}, time.Now)
		if errors.Is(err, snapshots.ErrMoving) {
			missed.Store(int64(max(0, n-10)))
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		taken++
		keys, err := bundle.KeysOf(relaytest.Agent().Secret, relaytest.Agent().Pub)
		if err != nil {
			t.Fatal(err)
		}
		got := map[nipae.Slug]int{}
		err = snapshots.Texts(t.Context(), cap, relaytest.Agent().Pub, keys, func(r snapshots.Text) error {
			n, err := strconv.Atoi(r.Text)
			got[r.Slug] = n
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := got["mem/a"], got["mem/b"]; a-b != 0 && a-b != 1 {
			t.Errorf("a mixture: a is %d, b is %d", a, b)
		}
	}
	cancel()
	if err := <-written; err != nil {
		t.Error(err)
	}
	if taken == 0 {
		t.Error("no capture succeeded")
	}
}

func union(all ...map[nipae.Slug]string) map[nipae.Slug]bool {
	out := map[nipae.Slug]bool{}
	for _, m := range all {
		for slug := range m {
			out[slug] = true
		}
	}
	return out
}

func equalTexts(a, b map[nipae.Slug]string) bool {
	for slug := range union(a, b) {
		if a[slug] != b[slug] {
			return false
		}
	}
	return true
}
