package operator

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
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
		relaytest.Deletion(agent, base+2, rig.Tag("e", gone.ID), rig.Tag("k", "1")),
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
	relay := rig.Start(t)
	second, err := relaytest.Launch(t, relaytest.Options{Build: rig.Watched, Data: relay.Data})
	if err == nil {
		t.Fatalf("a second daemon serves the same data")
	}
	if code := second.Exit(); code != 1 {
		t.Errorf("the second daemon ended with %d, want 1", code)
	}
	if pid := fmt.Sprint(relay.PID()); !strings.Contains(second.Log.Text(), pid) {
		t.Errorf("the refusal does not name the pid %s:\n%s", pid, second.Log.Text())
	}
	rig.Dial(t, relay).Store(relaytest.Note(relaytest.Agent(), rig.Now(), "the first one is unharmed"))
	relay.Kill() // a lock must not outlive its process
	rig.Dial(t, rig.Again(t, relay))
}

// TestOperator_ImportReachesLiveReaders imports into a relay that serves.
func TestOperator_ImportReachesLiveReaders(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := rig.Start(t)
	reader, stranger := rig.Dial(t, relay, owner), rig.Dial(t, relay, relaytest.Stranger())
	mine := reader.MustSubscribe(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}})
	notes := stranger.MustSubscribe(relaytest.Filter{"kinds": []int{1}})
	engram := relaytest.Memory(agent, owner.Pub, "core", "imported", rig.Now()-100)
	note := relaytest.Note(agent, rig.Now()-99, "imported")
	forged := relaytest.Note(agent, rig.Now()-98, "forged")
	forged.Content = "not what was signed"
	text := append(rig.JSONL(t, engram, forged), "not JSON\n"...)
	text = append(text, rig.JSONL(t, note)...)

	r := relay.Run(text, "import", "--data", relay.Data, "-")
	if got := reader.MustLive(mine.Sub); got.ID != engram.ID {
		t.Errorf("the owner got %s live", got.ID)
	}
	if got := stranger.MustLive(notes.Sub); got.ID != note.ID {
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
	wantSame(t, "after importing twice", rig.Exported(t, relay), byEventID(engram, note))
}

// TestOperator_ExportImport carries all events to another relay, in both ways:
// into a running daemon and into a folder without one.
func TestOperator_ExportImport(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := rig.Start(t)
	live, superseded, gone := estate(agent, owner, rig.Now()-10_000)
	c := rig.Dial(t, relay)
	c.Store(gone)
	c.Store(superseded...)
	c.Store(live...)
	heads, all := rig.Exported(t, relay), rig.Exported(t, relay, "--history")
	wantSame(t, "export", heads, byEventID(live...))
	wantSame(t, "export --history", all, byEventID(append(superseded, live...)...))

	dump := relay.Run(nil, "export", "--history", "--data", relay.Data)
	running := rig.Start(t)
	if r := running.Run(dump.Stdout, "import", "--data", running.Data, "-"); r.Code != 0 {
		t.Errorf("import into a running daemon: exit code %d\n%s", r.Code, r.Stderr)
	}
	wantSame(t, "imported while serving", rig.Exported(t, running), heads)
	wantSame(t, "imported while serving, with history", rig.Exported(t, running, "--history"), all)
	rig.Dial(t, running).Refused(gone, rig.Deleted[:len(rig.Deleted)-1])

	file := filepath.Join(t.TempDir(), "dump.jsonl")
	if err := os.WriteFile(file, dump.Stdout, 0o600); err != nil {
		t.Fatal(err)
	}
	idle := filepath.Join(t.TempDir(), "idle")
	if r := relaytest.RunBinary(t, rig.Watched, nil, nil, "import", "--data", idle, file); r.Code != 0 {
		t.Errorf("import without a daemon: exit code %d\n%s", r.Code, r.Stderr)
	}
	other := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Data: idle})
	wantSame(t, "imported without a daemon", rig.Exported(t, other, "--history"), all)
	if r := other.Run(nil, "check", "--data", other.Data); r.Code != 0 {
		t.Errorf("check after import: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// TestOperator_Backup copies a relay while clients write to it, and serves the
// copy.
func TestOperator_Backup(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := rig.Start(t)
	live, superseded, gone := estate(agent, owner, rig.Now()-10_000)
	c := rig.Dial(t, relay)
	c.Store(gone)
	c.Store(superseded...)
	c.Store(live...)
	all := rig.Exported(t, relay, "--history")

	busy, err := relaytest.Dial(relay.URL)
	if err != nil {
		t.Fatal(err)
	}
	stop, writing := make(chan struct{}), make(chan struct{})
	wrote := make(chan error, 1)
	go func() {
		defer busy.Close()
		for n := int64(0); !rig.Stopped(stop); n++ {
			if ok, err := busy.Publish(relaytest.Note(relaytest.NewKey(720), rig.Now()-50_000+n, "beside the backup")); err != nil || !ok.True {
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
	if r := relaytest.RunBinary(t, rig.Watched, nil, nil, "check", "--data", folder); r.Code != 1 || !strings.Contains(string(r.Stdout), "relay.key") {
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

	if r := relaytest.RunBinary(t, rig.Watched, nil, nil, "check", "--data", folder); r.Code != 0 {
		t.Errorf("check of the copy: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	restored := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Data: folder})
	got := rig.Exported(t, restored, "--history")
	for id, ev := range all {
		if got[id] == nil {
			t.Errorf("the copy lacks kind %d of %d", ev.Kind, ev.CreatedAt)
		}
	}
	rig.WantIDs(t, "a reader of the copy", rig.Dial(t, restored, owner).MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}}).IDs(), rig.NewestFirst(live[:5]...))
}

// TestOperator_Check finds the damage in a file and names it.
func TestOperator_Check(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	for i := range int64(300) {
		c.Store(relaytest.Note(relaytest.Agent(), rig.Now()-1000+i, strings.Repeat("content ", 100)))
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
