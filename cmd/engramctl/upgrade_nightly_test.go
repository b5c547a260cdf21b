//go:build nightly

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
)

// before is the last version whose states and copies knew no events as they were signed.
const before = "1c5e14c5"

// ofBefore builds that version's engramctl, from the history of this repository.
func ofBefore(t *testing.T) string {
	t.Helper()
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir, program := t.TempDir(), filepath.Join(t.TempDir(), "engramctl")
	archive := exec.Command("git", "-C", root, "archive", before)
	untar := exec.Command("tar", "x", "-C", dir)
	if untar.Stdin, err = archive.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(untar.Start(), archive.Run(), untar.Wait()); err != nil {
		notrun.Skip(t, "the history has no "+before)
	}
	build := exec.Command("go", "build", "-tags", relaytest.Tags, "-o", program, "./cmd/engramctl")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		notrun.Skip(t, before+" cannot be built: "+string(out))
	}
	return program
}

// upgraded is a machine with both versions.
type upgraded struct {
	*machine
	old   string
	relay *relaytest.Child
}

func (u *upgraded) before(args ...string) hooked {
	u.t.Helper()
	cmd := exec.Command(u.old, args...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(relaytest.CleanEnv(), u.env...), u.folder, &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	return hooked{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// writes has the old version write, and make a copy.
func (u *upgraded) writes() {
	u.t.Helper()
	for _, args := range [][]string{{"mem", "set", "core", firstText("core")}, {"mem", "set", "core", newestText("core")},
		{"mem", "set", "notes", firstText("mem/notes")}, {"mem", "set", "notes", newestText("mem/notes")}, {"recall", newestWord}} {
		if got := u.before(args...); got.code != 0 {
			u.t.Fatalf("%v: %+v", args, got)
		}
	}
}

// loses has the relay lose everything.
func (u *upgraded) loses() {
	u.t.Helper()
	u.relay.Stop()
	if err := os.RemoveAll(u.relay.Data); err != nil {
		u.t.Fatal(err)
	}
	u.relay = relaytest.Start(u.t, relaytest.Options{Data: u.relay.Data, Listen: strings.TrimPrefix(u.relay.URL, "ws://")})
}

// TestUpgradeOfAMachine: states and copies of the version before serve this one. What a
// relay still shows can be sent again from then on; of the rest the text stays, and
// nothing of it is called absent. Both versions beside each other lose nothing, and an
// upgrade that is killed is made again.
func TestUpgradeOfAMachine(t *testing.T) {
	old := ofBefore(t)
	begins := func(t *testing.T) *upgraded {
		relay := relaytest.Start(t, relaytest.Options{Listen: relaytest.OwnAddress()})
		key := relaytest.NewKey(692)
		u := &upgraded{&machine{hookRig: newMachineOf(t, key, relay.URL), key: key}, old, relay}
		u.writes()
		return u
	}
	t.Run("while the relay shows all", func(t *testing.T) {
		u := begins(t)
		u.ok("recall", newestWord)
		u.loses()
		if got := u.ok("mem", "get", "notes"); got != newestText("mem/notes") {
			t.Errorf("%q", got)
		}
		if got := u.ok("core"); !strings.Contains(got, newestWord) {
			t.Errorf("%q", got)
		}
		u.ok("mem", "set", "notes", anew(""))
		l := lostTable{relay: u.relay}
		all := l.versions(t, u.machine, "mem/notes")
		if len(all) != 2 || *u.opens(all[1]) != newestText("mem/notes") {
			t.Errorf("%v", all)
		}
	})
	t.Run("after the relay lost all", func(t *testing.T) {
		u := begins(t)
		u.loses()
		for _, args := range [][]string{{"mem", "get", "notes"}, {"core"}, {"mem", "set", "notes", "x"}} {
			if got := u.run(nil, args...); got.code != 6 || got.stdout != "" || neverSaid.MatchString(got.stderr) {
				t.Errorf("%v: %+v", args, got)
			}
		}
		if got := u.ok("recall", newestWord); !strings.Contains(got, newestText("mem/notes")) || !strings.Contains(got, newestText("core")) {
			t.Errorf("%q", got)
		}
	})
	t.Run("both for a while", func(t *testing.T) {
		u := begins(t)
		var slugs []string
		for i := range 6 {
			slug := "w" + string(rune('a'+i))
			slugs = append(slugs, slug)
			if i%2 == 0 {
				u.ok("mem", "set", slug, newestText(slug))
			} else if got := u.before("mem", "set", slug, newestText(slug)); got.code != 0 {
				t.Errorf("%+v", got)
			}
			if got := u.before("recall", newestWord); got.code != 0 {
				t.Errorf("%+v", got)
			}
			u.ok("recall", newestWord)
		}
		u.loses()
		for _, slug := range append(slugs, "notes", "core") {
			if got := u.ok("mem", "get", slug); !strings.Contains(got, newestWord) {
				t.Errorf("%s: %q", slug, got)
			}
		}
		if got := u.before("mem", "get", "notes"); got.code != 1 {
			t.Errorf("the version before knows more than it did: %+v", got)
		}
		for _, slug := range append(slugs, "notes", "core") {
			if got := u.ok("mem", "get", slug); !strings.Contains(got, newestWord) {
				t.Errorf("%s, once more: %q", slug, got)
			}
		}
	})
	t.Run("killed in the middle", func(t *testing.T) {
		u := begins(t)
		u.keepsThis()
		killed := 0
		for n := range 60 {
			u.again()
			cmd := exec.Command("engramctl", "recall", newestWord)
			cmd.Env, cmd.Dir = append(relaytest.CleanEnv(), u.env...), u.folder
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(n) * 3 * time.Millisecond)
			_ = cmd.Process.Kill()
			if cmd.Wait() != nil {
				killed++
			}
			got := u.run(nil, "recall", newestWord)
			if got.code != 0 || !strings.Contains(got.stdout, newestText("mem/notes")) || strings.Contains(got.stderr, "aside") {
				t.Errorf("killed after %d ms: %+v", 3*n, got)
			}
		}
		if killed < 10 {
			t.Errorf("it was killed %d times", killed)
		}
		u.loses()
		if got := u.ok("mem", "get", "notes"); got != newestText("mem/notes") {
			t.Errorf("%q", got)
		}
	})
}
