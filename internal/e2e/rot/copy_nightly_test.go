//go:build nightly

package rot

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// machine is one where an agent works: what it keeps there, and what commands answer
// while that is whole.
type machine struct {
	*rig.Ctl
	folder
	nobody []string          // the environment where no relay answers
	heads  map[string]string // the newest text of each memory
	older  []string
	whole  map[string]string // what each question is answered with
	told   int               // older texts, as what this machine has
}

// answered is what a command gave.
type answered struct {
	code           int
	stdout, stderr string
}

// theirs are the files that an agent keeps.
func theirs(path string) bool {
	return strings.Contains(path, ".mirror") || strings.Contains(path, ".state")
}

var questions = [][]string{{"mem", "get", "rot/3"}, {"mem", "get", "rot/1"}, {"mem", "ls"}, {"recall", "boats", "harbour"}, {"verify"}} // which only relays answer

// TestFlipsOfTheMachine flips one bit of the local copy, of the agent's state, and of
// their logs, at 30 places each or more, and asks with a relay and without one. Each
// answer is right, or what is wrong is said; no text is told that nobody wrote.
func TestFlipsOfTheMachine(t *testing.T) {
	n := 30
	if rig.Soak() {
		n = 300
	}
	rng := rand.New(rand.NewPCG(rig.Seed(t), 8))
	m := newMachine(t)
	for _, file := range slices.Sorted(maps.Keys(m.files)) {
		if filepath.Ext(file) != ".lock" && len(m.files[file]) > 0 {
			t.Run(strings.TrimLeft(filepath.Ext(file), "."), func(t *testing.T) {
				tally := &tally{}
				for _, p := range m.spread(rng, file, n) {
					f, err := m.flip(p)
					if err != nil {
						t.Errorf("%v: %v", p, err)
						f = 0
					}
					tally.n[f]++
				}
				t.Logf("%s, of %d bytes; %d older texts told so far where no relay answered", tally, len(m.files[file]), m.told)
			})
		}
	}
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{Ctl: rig.NewCtl(t, rig.Start(t)), heads: map[string]string{}, whole: map[string]string{}}
	m.Env = append(m.Env, "ENGRAM_OWNER="+relaytest.Owner().Pub)
	for _, kv := range m.Env {
		if !strings.HasPrefix(kv, "ENGRAM_RELAYS=") {
			m.nobody = append(m.nobody, kv)
		}
	}
	m.nobody = append(m.nobody, "ENGRAM_RELAYS=ws://127.0.0.1:1")
	for i := range 50 { // more than one log of each file holds
		slug := fmt.Sprintf("rot/%d", i%8)
		text := fmt.Sprintf("Text %d says of boats that they lie in the harbour until %d.", i, 1900+i)
		m.older, m.heads[slug] = append(m.older, m.heads[slug]), text
		m.Run(0, "mem", "set", slug, text)
		if i%4 == 3 {
			m.Run(0, "recall", "boats") // brings the copy up to date
		}
	}
	for _, q := range questions {
		a := m.ask(m.Env, q)
		if a.code != 0 || a.stderr != "" {
			t.Fatalf("%v: %+v", q, a)
		}
		m.whole[strings.Join(q, " ")] = a.stdout
	}
	if text := m.whole["recall boats harbour"]; m.made(text) != nil || !strings.Contains(text, "\n| ") {
		t.Fatal(text)
	}
	all := readFolder(t, m.Dir)
	m.files = map[string][]byte{}
	for name, text := range all.files {
		if theirs(name) {
			m.files[name] = text
		}
	}
	if len(m.files) < 4 {
		t.Fatalf("the machine has %v", slices.Sorted(maps.Keys(m.files)))
	}
	for _, q := range questions[:4] {
		if a := m.ask(m.nobody, q); a.code != 0 || a.stdout != m.whole[strings.Join(q, " ")] {
			t.Fatalf("%v, where no relay answers: %+v", q, a)
		}
	}
	return m
}

func (m *machine) ask(env, q []string) answered {
	cmd, both := m.Command(q...)
	stdout := &bytes.Buffer{}
	cmd.Env, cmd.Stdout = env, stdout
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return answered{-1, "", err.Error()}
	}
	return answered{cmd.ProcessState.ExitCode(), stdout.String(), both.String()}
}

// back gives the machine its files again, with a bit flipped.
func (m *machine) back(p place) error {
	for _, glob := range []string{"*.mirror*", "*.state*"} {
		for _, dir := range []string{".cache", ".local/state"} {
			found, err := filepath.Glob(filepath.Join(m.Dir, dir, "engramd", glob))
			for _, path := range found {
				err = errors.Join(err, os.Remove(path))
			}
			if err != nil {
				return err
			}
		}
	}
	return m.write(m.Dir, p)
}

func (m *machine) flip(p place) (fate, error) {
	become := harmless
	for _, online := range []bool{true, false} {
		env := m.nobody
		if online {
			env = m.Env
		}
		if err := m.back(p); err != nil {
			return 0, err
		}
		for _, q := range questions {
			a := m.ask(env, q)
			name := strings.Join(q, " ")
			if strings.Contains(a.stderr, "panic") || a.code < 0 {
				return 0, fmt.Errorf("%s: %s", name, a.stderr)
			}
			if err := m.made(a.stdout); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
			if strings.Contains(a.stderr, "set aside") {
				become = healed
			}
			said := strings.TrimSpace(a.stderr) != ""
			switch {
			case a.code != 0 && !said:
				return 0, fmt.Errorf("%s: exit code %d, and nothing is said", name, a.code)
			case a.code != 0 && become == harmless && (online || q[0] != "verify"):
				become = refused
			case online && a.code == 0 && a.stdout != m.whole[name] && !said:
				return 0, fmt.Errorf("%s: exit code 0, nothing said, and\n%s\ninstead of\n%s", name, a.stdout, m.whole[name])
			case online && a.code == 0 && slices.Contains(q, "get") && a.stdout != m.whole[name]:
				return 0, fmt.Errorf("%s: exit code 0, and %q", name, a.stdout)
			case !online && a.code == 0 && !said:
				return 0, fmt.Errorf("%s: no relay answers, and nothing is said:\n%s", name, a.stdout)
			case !online && a.code == 0 && become == harmless && q[0] != "recall" && a.stdout != m.whole[name]:
				become = torn // and says that it is what this machine has
			}
			if a.code == 0 && slices.Contains(q, "get") && a.stdout != m.whole[name] {
				m.told++
			}
		}
	}
	return become, nil
}

// made fails for a text that nobody wrote.
func (m *machine) made(stdout string) error {
	for line := range strings.Lines(stdout) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "| ")
		if !ok && !strings.HasPrefix(text, "Text ") {
			continue
		}
		if !slices.Contains(m.older, text) && !slices.Contains(slices.Collect(maps.Values(m.heads)), text) {
			return fmt.Errorf("a text that nobody wrote: %q", text)
		}
	}
	return nil
}
