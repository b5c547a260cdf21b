//go:build nightly

package rot

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// killed is the folder of a relay that was killed, with its write-ahead log.
type killed struct {
	folder
	all    rig.Events // acknowledged
	last   rig.Events // of them, those that came with the last commit of the log
	frames []frame
}

// frame is one of the log.
type frame struct {
	at      int
	commits int // that end at or behind it
}

const (
	logName     = "engramd.db-wal"
	logHeader   = 32
	frameHeader = 24
)

var refusedLog = regexp.MustCompile(`is damaged at byte (\d+), and (\d+) commits that lie there or behind it cannot be read; .*--accept-loss ([0-9a-f]{12})`)

// TestFlipsOfTheLog flips one bit of the write-ahead log of a relay that was killed,
// at 40 places or more. The start is refused with the number of commits that cannot be
// read, or has every acknowledged event. A flip in the last commit alone may look as if
// it had been cut short, for nothing was written behind it.
func TestFlipsOfTheLog(t *testing.T) {
	spread := 24
	if rig.Soak() {
		spread = 400
	}
	rng := rand.New(rand.NewPCG(rig.Seed(t), 5))
	k := newKilled(t)
	var tally tally
	each(t, &tally, k.places(rng, spread), k.flip)
	t.Logf("%s, of %d bytes in %d frames and %d commits, %d events", &tally, len(k.files[logName]), len(k.frames), k.frames[0].commits, len(k.all))
	if tally.n[refused] == 0 || tally.n[torn] == 0 {
		t.Error("no flip was refused, or none looked as if the last commit had been cut short")
	}
}

func newKilled(t *testing.T) *killed {
	t.Helper()
	first := rig.Start(t, rig.Exclude)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	base := rig.Now() - 10_000
	k := &killed{all: rig.Events{}, last: rig.Events{}}
	store := func(c *rig.Peer, evs ...*nostr.Event) {
		for _, ev := range evs {
			c.Store(ev)
			k.all[ev.ID] = ev
		}
	}
	c := rig.Dial(t, first)
	for i := range int64(5) {
		store(c, relaytest.Note(agent, base+i, fmt.Sprint("before ", i)))
	}
	if code, _ := first.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	second := rig.Again(t, first, rig.Exclude)
	c = rig.Dial(t, second)
	for i := range int64(10) {
		store(c, relaytest.Note(agent, base+100+i, fmt.Sprint("note ", i)),
			relaytest.Memory(agent, owner.Pub, fmt.Sprintf("mem/rot/%d", i), fmt.Sprint("value ", i), base+100+i),
			relaytest.Entry(agent, owner.Pub, fmt.Sprintf("%s%02d", agent.Pub[:30], i), "message", fmt.Sprint("entry ", i), base+100+i))
	}
	second.Kill()
	k.folder = readFolder(t, second.Data)
	k.frames = framesOf(t, k.files[logName])
	whole := k.recovered(t, k.files[logName])
	if len(whole) != len(k.all) {
		t.Fatalf("%d of %d events are there after the kill", len(whole), len(k.all))
	}
	for at := range k.frames { // without the last commit
		if k.frames[at].commits == 1 {
			for id, ev := range k.all {
				k.last[id] = ev
			}
			for id := range k.recovered(t, k.files[logName][:k.frames[at].at]) {
				delete(k.last, id)
			}
			break
		}
	}
	if n := k.frames[0].commits; n < 30 || len(k.last) > 1 {
		t.Fatalf("%d commits in the log, %d events in the last", n, len(k.last))
	}
	return k
}

// framesOf reads a whole log.
func framesOf(t *testing.T, log []byte) (frames []frame) {
	t.Helper()
	size := frameHeader + int(binary.BigEndian.Uint32(log[8:]))
	if (len(log)-logHeader)%size != 0 {
		t.Fatalf("a log of %d bytes with frames of %d", len(log), size)
	}
	commits := 0
	for at := len(log) - size; at >= logHeader; at -= size {
		if [8]byte(log[at+8:]) != [8]byte(log[16:]) {
			t.Fatalf("byte %d is of an earlier log", at)
		}
		if binary.BigEndian.Uint32(log[at+4:]) != 0 {
			commits++
		}
		frames = append(frames, frame{at, commits})
	}
	slices.Reverse(frames)
	return frames
}

// recovered is what is exported of the folder with that log.
func (k *killed) recovered(t *testing.T, log []byte) rig.Events {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := k.write(data); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, logName), log, 0o600); err != nil {
		t.Fatal(err)
	}
	events, err := exported(t, data)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// places are the fields of the header and of the first and the last frame, the last
// commit's first frame, and some in between.
func (k *killed) places(rng *rand.Rand, spread int) (places []place) {
	in := func(at, size int) { places = append(places, place{logName, 8*(at+rng.IntN(size)) + rng.IntN(8)}) }
	fields := func(at int) {
		in(at, 4)     // page
		in(at+4, 4)   // size, of a commit
		in(at+8, 8)   // salt
		in(at+16, 8)  // sum
		in(at+24, 64) // page
	}
	for _, field := range [][2]int{{0, 4}, {4, 4}, {8, 4}, {12, 4}, {16, 8}, {24, 8}} {
		in(field[0], field[1])
	}
	fields(k.frames[0].at)
	fields(k.frames[len(k.frames)-1].at)
	lasts := slices.IndexFunc(k.frames, func(f frame) bool { return f.commits == 1 })
	fields(k.frames[lasts].at)
	fields(k.frames[lasts-1].at) // the end of the commit before
	between := len(k.files[logName]) / spread
	for i := range spread {
		in(i*between, between)
	}
	return places
}

// behind is how many commits end at or behind a byte of the log.
func (k *killed) behind(at int) int {
	commits := k.frames[0].commits
	for _, f := range k.frames {
		if f.at > at {
			break
		}
		commits = f.commits
	}
	return commits
}

func (k *killed) flip(t *testing.T, p place) (fate, error) {
	data := filepath.Join(t.TempDir(), "data")
	defer os.RemoveAll(data)
	if err := k.write(data, p); err != nil {
		return 0, err
	}
	lost := k.behind(p.bit / 8)
	log, err := served(t, data, nil)
	if err != nil {
		said := refusedLog.FindStringSubmatch(log)
		if said == nil {
			return 0, fmt.Errorf("refused, with other words: %w", err)
		}
		// A commit whose own mark is the flipped bit is not counted, or counted twice.
		if n, err := strconv.Atoi(said[2]); err != nil || n < max(lost-1, 1) || n > lost+1 {
			return 0, fmt.Errorf("%d commits are behind it: %s", lost, said[0])
		}
		return refused, k.accepted(t, data, said[3], p)
	}
	events, err := exported(t, data)
	if err != nil {
		return 0, err
	}
	missing, err := k.missing(events)
	if err != nil || len(missing) == 0 {
		return harmless, err
	}
	if lost > 1 {
		return 0, fmt.Errorf("started, with %d events less and %d commits\n%s", len(missing), lost, log)
	}
	for id := range missing {
		if k.last[id] == nil {
			return 0, fmt.Errorf("started, and %s of an earlier commit is missing", id)
		}
	}
	return torn, nil
}

// accepted gives up what is lost: all before it is there.
func (k *killed) accepted(t *testing.T, data, word string, p place) error {
	if r := relaytest.RunBinary(t, rig.Plain, nil, nil, "check", "--data", data, "--accept-loss", word); r.Code != 0 || !strings.Contains(r.Stderr+string(r.Stdout), "ok: ") {
		return fmt.Errorf("accepted: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if kept, _ := filepath.Glob(filepath.Join(data, logName+".lost-"+word)); len(kept) != 1 {
		return fmt.Errorf("accepted: the damaged log is not kept")
	}
	events, err := exported(t, data)
	if err != nil {
		return err
	}
	missing, err := k.missing(events)
	if lost := k.behind(p.bit / 8); err == nil && len(missing) > lost {
		err = fmt.Errorf("accepted: %d events are missing, of %d commits", len(missing), lost)
	}
	return err
}

// missing is what was acknowledged and is not there. It fails for what was never sent.
func (k *killed) missing(events rig.Events) (rig.Events, error) {
	missing := rig.Events{}
	for id, ev := range k.all {
		if events[id] == nil {
			missing[id] = ev
		}
	}
	for id, ev := range events {
		if was := k.all[id]; was == nil || was.String() != ev.String() {
			return nil, fmt.Errorf("an event that was never stored: %s", ev)
		}
	}
	return missing, nil
}
