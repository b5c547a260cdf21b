//go:build nightly

package power

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestPower_Cuts takes the power away at 200 moments of a relay's life, with make
// soak at 2,000: its first start, events, a backup beside them, an end, a kill, a
// log that is written back and begun anew, and what comes after each of them.
func TestPower_Cuts(t *testing.T) {
	moments := 200
	if rig.Soak() {
		moments = 2000
	}
	seed := rig.Seed(t)
	l := newLife(t, 3, seed)
	l.live(t)
	ops := l.ops(t)
	t.Logf("%d calls, %d MB, %d events acknowledged", len(ops), l.moment()>>20, l.acknowledged())
	calls := some(ops, 0, moments, rand.New(rand.NewPCG(seed, 1)))
	var started atomic.Int64
	disks := l.cuts(t, ops, calls, seed, func(t *testing.T, c cut) {
		var wrong []string
		// Before it was ready for the first time nothing was acknowledged, and there
		// may be no database yet that a command reads: the next start goes on.
		if c.moment < l.born || c.call%8 == 0 {
			started.Add(1)
			wrong = l.startsFrom(t, c)
		}
		for _, one := range append(wrong, holds(c.data(), l.books, c.moment)...) {
			t.Errorf("%v: %s", c, one)
		}
	})
	t.Logf("%d moments, %d disks, %d of them started", len(calls), disks, started.Load())
	l.verifyBackups(t, ops)
}

// live is what the relay does while everything is written down.
func (l *life) live(t *testing.T) {
	relay := l.start(t)
	l.born = l.moment()
	l.publish(t, relay, 40)
	l.backUp(t, relay)
	stop(t, relay)

	relay = l.start(t)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		l.backUp(t, relay)
	}()
	l.publish(t, relay, 40)
	<-copied
	l.kill(t, relay)

	relay = l.start(t)
	l.publish(t, relay, 10)
	l.fillLog(t, relay)
	l.publish(t, relay, 40)
	l.kill(t, relay)
	stop(t, l.start(t))
}

// fillLog writes until the log was written back and is begun anew: one commit after
// the other, for each writes ten pages and more, and the database stays small.
func (l *life) fillLog(t *testing.T, relay *relaytest.Child) {
	const most = 2000
	c := rig.Dial(t, relay)
	k, before := relaytest.NewKey(2999), l.written(t)
	for i := range most {
		c.Store(relaytest.Note(k, rig.Now()-5000+int64(i), fmt.Sprint("filling ", i)))
		if i%50 == 0 && l.written(t) > before {
			return
		}
	}
	t.Fatalf("%d commits, and the log was not written back", most)
}

// written is when the database itself was written last.
func (l *life) written(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(l.data(), "engramd.db"))
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime().UnixNano()
}

// startsFrom has the program serve a disk.
func (l *life) startsFrom(t *testing.T, c cut) (wrong []string) {
	p := relaytest.NewProgram("power")
	relay, err := relaytest.Launch(p, relaytest.Options{Build: rig.Plain, Data: c.data()})
	if err != nil {
		return []string{err.Error()}
	}
	if code, _ := relay.Stop(); code != 0 {
		wrong = append(wrong, fmt.Sprintf("the end of a start on it: exit code %d\n%s", code, relay.Log.Text()))
	}
	if err := p.Finish(); err != nil {
		wrong = append(wrong, err.Error())
	}
	return wrong
}

// verifyBackups: what was reported as done is durable, without a sync of Go's, and
// holds all that was acknowledged before it began.
func (l *life) verifyBackups(t *testing.T, ops []op) {
	for _, b := range l.backups {
		call := behind(ops, b.done)
		l.cuts(t, ops, []int{call}, 1, func(t *testing.T, c cut) {
			if err := c.restore(filepath.Base(b.file) + ".partial"); err != nil {
				t.Errorf("%v: a backup that was done is not there: %v", c, err)
				return
			}
			for _, wrong := range holdsUntil(c.data(), l.books, b.begun, b.done) {
				t.Errorf("%v, %s: %s", c, filepath.Base(b.file), wrong)
			}
		})
	}
}

// restore puts a backup in the place of the database, with its keys.
func (c cut) restore(file string) error {
	database := filepath.Join(c.data(), "engramd.db")
	for _, name := range []string{database, database + "-wal", filepath.Join(c.data(), markName)} {
		if err := os.RemoveAll(name); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(c.folder, "backups", file), database)
}
