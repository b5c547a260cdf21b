package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

const estateID = "0b6f8d2e-7a55-4c6e-9d6c-000000000e57"

// estate is a small set with something of everything: heads, history, contract
// memory, a deletion. late is what a deletion in it has removed.
func estate(agent, owner relaytest.Key, base int64) (live, superseded []*nostr.Event, gone *nostr.Event) {
	for i := range int64(5) {
		slug := fmt.Sprint("mem/estate/", i)
		superseded = append(superseded, relaytest.Memory(agent, owner.Pub, slug, "old", base+i))
		live = append(live, relaytest.Memory(agent, owner.Pub, slug, "new", base+100+i))
	}
	gone = relaytest.Note(agent, base, "deleted")
	return append(live,
		relaytest.Note(agent, base+1, "a note"),
		relaytest.Entry(agent, owner.Pub, estateID, "note", "plain", base),
		relaytest.SealedEntry(owner, agent.Pub, estateID, "message", "sealed", base),
		relaytest.State(agent, owner.Pub, estateID, "open", "", base),
		relaytest.Deletion(agent, base+2, tag("e", gone.ID), tag("k", "1")),
	), superseded, gone
}

func byEventID(evs ...*nostr.Event) map[string]*nostr.Event {
	out := map[string]*nostr.Event{}
	for _, ev := range evs {
		out[ev.ID] = ev
	}
	return out
}

func wantSame(t *testing.T, what string, got, want map[string]*nostr.Event) {
	t.Helper()
	for id, ev := range want {
		if got[id] == nil {
			t.Errorf("%s: lacks kind %d of %d", what, ev.Kind, ev.CreatedAt)
		} else if got[id].String() != ev.String() {
			t.Errorf("%s: %s came back as %s", what, ev, got[id])
		}
	}
	for id, ev := range got {
		if want[id] == nil {
			t.Errorf("%s: has kind %d of %d too", what, ev.Kind, ev.CreatedAt)
		}
	}
}

// TestOperator_Lock: one daemon for a data folder.
func TestOperator_Lock(t *testing.T) {
	relay := start(t)
	second, err := relaytest.Launch(t, relaytest.Options{Build: watched, Data: relay.Data})
	if err == nil {
		t.Fatalf("a second daemon serves the same data")
	}
	if code := second.Exit(); code != 1 {
		t.Errorf("the second daemon ended with %d, want 1", code)
	}
	if pid := fmt.Sprint(relay.PID()); !strings.Contains(second.Log.Text(), pid) {
		t.Errorf("the refusal does not name the pid %s:\n%s", pid, second.Log.Text())
	}
	dial(t, relay).store(relaytest.Note(relaytest.Agent(), now(), "the first one is unharmed"))
	relay.Kill() // a lock must not outlive its process
	dial(t, again(t, relay))
}

// TestOperator_ImportReachesLiveReaders imports into a relay that serves.
func TestOperator_ImportReachesLiveReaders(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := start(t)
	reader, stranger := dial(t, relay, owner), dial(t, relay, relaytest.Stranger())
	mine := reader.subscribe(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}})
	notes := stranger.subscribe(relaytest.Filter{"kinds": []int{1}})
	engram := relaytest.Memory(agent, owner.Pub, "core", "imported", now()-100)
	note := relaytest.Note(agent, now()-99, "imported")
	forged := relaytest.Note(agent, now()-98, "forged")
	forged.Content = "not what was signed"
	text := append(jsonl(t, engram, forged), "not JSON\n"...)
	text = append(text, jsonl(t, note)...)

	r := relay.Run(text, "import", "--data", relay.Data, "-")
	if got := reader.live(mine.Sub); got.ID != engram.ID {
		t.Errorf("the owner got %s live", got.ID)
	}
	if got := stranger.live(notes.Sub); got.ID != note.ID {
		t.Errorf("the stranger got %s live", got.ID)
	}
	all := r.Stderr + string(r.Stdout)
	for _, line := range []string{"2", "3"} {
		if !strings.Contains(all, "line "+line) && !strings.Contains(all, "line="+line) {
			t.Errorf("import does not name line %s, which it skipped:\n%s", line, all)
		}
	}
	if again := relay.Run(text, "import", "--data", relay.Data, "-"); again.Code != r.Code {
		t.Errorf("the same import again: exit code %d, then %d\n%s", r.Code, again.Code, again.Stderr)
	}
	wantSame(t, "after importing twice", exported(t, relay), byEventID(engram, note))
}

// TestOperator_ExportImport carries everything to another relay, by both ways:
// into a running daemon and into a folder that nobody serves.
func TestOperator_ExportImport(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := start(t)
	live, superseded, gone := estate(agent, owner, now()-10_000)
	c := dial(t, relay)
	c.store(gone)
	c.store(superseded...)
	c.store(live...)
	heads, all := exported(t, relay), exported(t, relay, "--history")
	wantSame(t, "export", heads, byEventID(live...))
	wantSame(t, "export --history", all, byEventID(append(superseded, live...)...))

	dump := relay.Run(nil, "export", "--history", "--data", relay.Data)
	running := start(t)
	if r := running.Run(dump.Stdout, "import", "--data", running.Data, "-"); r.Code != 0 {
		t.Errorf("import into a running daemon: exit code %d\n%s", r.Code, r.Stderr)
	}
	wantSame(t, "imported while serving", exported(t, running), heads)
	wantSame(t, "imported while serving, with history", exported(t, running, "--history"), all)
	dial(t, running).refused(gone, deleted[:len(deleted)-1])

	file := filepath.Join(t.TempDir(), "dump.jsonl")
	if err := os.WriteFile(file, dump.Stdout, 0o600); err != nil {
		t.Fatal(err)
	}
	idle := filepath.Join(t.TempDir(), "idle")
	if r := relaytest.RunBinary(t, watched, nil, nil, "import", "--data", idle, file); r.Code != 0 {
		t.Errorf("import without a daemon: exit code %d\n%s", r.Code, r.Stderr)
	}
	other := relaytest.Start(t, relaytest.Options{Build: watched, Data: idle})
	wantSame(t, "imported without a daemon", exported(t, other, "--history"), all)
	if r := other.Run(nil, "check", "--data", other.Data); r.Code != 0 {
		t.Errorf("check after import: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestOperator_Backup copies a relay while clients write to it, and serves the
// copy.
func TestOperator_Backup(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := start(t)
	live, superseded, gone := estate(agent, owner, now()-10_000)
	c := dial(t, relay)
	c.store(gone)
	c.store(superseded...)
	c.store(live...)
	all := exported(t, relay, "--history")

	busy, err := relaytest.Dial(relay.URL)
	if err != nil {
		t.Fatal(err)
	}
	stop, writing := make(chan struct{}), make(chan struct{})
	wrote := make(chan error, 1)
	go func() {
		defer busy.Close()
		for n := int64(0); !stopped(stop); n++ {
			if ok, err := busy.Publish(relaytest.Note(relaytest.NewKey(720), now()-50_000+n, "beside the backup")); err != nil || !ok.True {
				wrote <- fmt.Errorf("publish beside the backup: %v %v", ok, err)
				return
			}
			if n == 10 {
				close(writing)
			}
		}
		wrote <- nil
	}()
	<-writing
	folder := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "engramd.db")
	r := relay.Run(nil, "backup", "--data", relay.Data, file)
	close(stop)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if r.Code != 0 {
		t.Fatalf("backup: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup: %v, %v; want mode 600", info, err)
	}
	if r := relaytest.RunBinary(t, watched, nil, nil, "check", "--data", folder); r.Code != 1 || !strings.Contains(string(r.Stdout), "relay.key") {
		t.Errorf("check of the copy without its keys: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	for _, named := range regexp.MustCompile(`(?m)^keep with it: (.*)$`).FindAllSubmatch(r.Stdout, -1) {
		key, err := os.ReadFile(string(named[1]))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(string(named[1]))), key, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if again := relay.Run(nil, "backup", "--data", relay.Data, file); again.Code == 0 {
		t.Errorf("a backup overwrites another")
	}

	if r := relaytest.RunBinary(t, watched, nil, nil, "check", "--data", folder); r.Code != 0 {
		t.Errorf("check of the copy: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	restored := relaytest.Start(t, relaytest.Options{Build: watched, Data: folder})
	got := exported(t, restored, "--history")
	for id, ev := range all {
		if got[id] == nil {
			t.Errorf("the copy lacks kind %d of %d", ev.Kind, ev.CreatedAt)
		}
	}
	wantIDs(t, "a reader of the copy", dial(t, restored, owner).query(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}}).IDs(), newestFirst(live[:5]...))
}

// TestOperator_Check finds what is wrong with a damaged file and says so.
func TestOperator_Check(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	for i := range int64(300) {
		c.store(relaytest.Note(relaytest.Agent(), now()-1000+i, strings.Repeat("content ", 100)))
	}
	if r := relay.Run(nil, "check", "--data", relay.Data); r.Code != 0 {
		t.Errorf("check of a whole database beside its daemon: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	path := filepath.Join(relay.Data, "engramd.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	for i := len(damaged) / 2; i < len(damaged)/2+64*1024 && i < len(damaged); i++ {
		damaged[i] ^= 0x5a
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	r := relay.Run(nil, "check", "--data", relay.Data)
	if r.Code != 1 || len(r.Stdout)+len(r.Stderr) == 0 {
		t.Errorf("check of a damaged database: exit code %d, want 1\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}
