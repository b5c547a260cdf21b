//go:build nightly

package rot

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// spread picks bits of a file: half of them anywhere, half where it is not empty.
func (f folder) spread(rng *rand.Rand, file string, n int) (places []place) {
	text := f.files[file]
	for len(places) < n {
		at := rng.IntN(len(text))
		if len(places)%2 == 0 || text[at] != 0 {
			places = append(places, place{file, 8*at + rng.IntN(8)})
		}
	}
	return places
}

// stopped is the folder of a relay that was stopped.
type stopped struct {
	folder
	all rig.Events
	key string // the relay's, public
}

const markFile, clockFile, relayKey, masterKey = "engramd.mark", "engramd.clock", "relay.key", "master.key"

// healedLines are what a start says that makes one anew.
var healedLines = map[string]string{
	markFile:  "the mark file is made anew",
	clockFile: "what is known of the clock cannot be read",
}

func newStopped(t *testing.T) *stopped {
	t.Helper()
	relay := rig.Start(t, rig.Exclude)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	c, base := rig.Dial(t, relay), rig.Now()-10_000
	poster, contract := &rig.ContractAgent{Key: relaytest.NewKey(41)}, "25becee1-0000-4000-8000-0000000000aa"
	c.Store(relaytest.State(poster.Key, owner.Pub, contract, "open", "", base))
	calls := &rig.ContractCalls{Caller: rig.NewCaller(t, relay), T: t}
	calls.Want(http.StatusCreated, poster, http.MethodPost, rig.ContractsPath+"/"+contract+"/memory",
		map[string]any{"type": "note", "visibility": "poster_only", "content": "sealed with the master key"}, nil)
	for i := range int64(10) {
		c.Store(relaytest.Memory(agent, owner.Pub, fmt.Sprintf("mem/rot/%d", i%7), fmt.Sprint("value ", i), base+i))
	}
	rig.Engramd(t, relay, "snapshot", "--agent", agent.Pub)
	if code, _ := relay.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s := &stopped{folder: readFolder(t, relay.Data)}
	var err error
	if s.all, err = exported(t, relay.Data); err != nil {
		t.Fatal(err)
	}
	if s.key, err = keyOf(t, relay.Data); err != nil || len(s.all) < 10 {
		t.Fatal(len(s.all), err)
	}
	return s
}

// keyOf is the relay's public key as the database and the file have it.
func keyOf(t *testing.T, data string) (string, error) {
	r := relaytest.RunBinary(t, rig.Plain, nil, nil, "relay-key", "--data", data)
	key, _, ok := strings.Cut(string(r.Stdout), " ")
	if r.Code != 0 || !ok {
		return "", fmt.Errorf("relay-key: exit code %d\n%s", r.Code, r.Stderr)
	}
	return key, nil
}

// TestFlipsOfKeysAndMarks flips one bit of each small file of a data folder, at 30
// places or more. A key is refused by name or is the one that it was, and the files
// that a relay can do without are made anew, which it says.
func TestFlipsOfKeysAndMarks(t *testing.T) {
	n := 30
	if rig.Soak() {
		n = 300
	}
	rng := rand.New(rand.NewPCG(rig.Seed(t), 6))
	s := newStopped(t)
	alone := &stopped{folder{maps.Clone(s.files)}, s.all, s.key}
	alone.files[markFile] = append(bytes.Clone(s.files[markFile][:512]), make([]byte, 512)...)
	for _, c := range []struct {
		name, file string
		s          *stopped
		want       fate // what becomes of some of them at least
	}{
		{"relay key", relayKey, s, refused},
		{"master key", masterKey, s, refused},
		{"mark", markFile, s, harmless}, // the other slot is whole
		{"mark that is written once", markFile, alone, healed},
		{"clock", clockFile, s, healed},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tally tally
			each(t, &tally, c.s.spread(rng, c.file, n), c.s.flip)
			t.Log(&tally)
			if tally.n[c.want] == 0 {
				t.Error("no flip met anything")
			}
		})
	}
}

func (s *stopped) flip(t *testing.T, p place) (fate, error) {
	data := filepath.Join(t.TempDir(), "data")
	defer os.RemoveAll(data)
	if err := s.write(data, p); err != nil {
		return 0, err
	}
	flipped, err := os.ReadFile(filepath.Join(data, p.file))
	if err != nil {
		return 0, err
	}
	log, err := served(t, data, nil)
	if err != nil {
		now, e := os.ReadFile(filepath.Join(data, p.file))
		switch {
		case e != nil || !bytes.Equal(now, flipped):
			return 0, fmt.Errorf("refused, and the file was changed: %w", errors.Join(err, e))
		case healedLines[p.file] != "" || !strings.Contains(log, "engramd serve: ") || !strings.Contains(log, p.file+": "):
			return 0, fmt.Errorf("refused, without its name: %w", err)
		}
		return refused, s.same(t, data)
	}
	line := healedLines[p.file]
	healing := line != "" && strings.Contains(log, line) && strings.Contains(log, "level=WARN")
	if !healing && strings.Contains(log, "level=WARN") {
		return 0, fmt.Errorf("started with another warning\n%s", log)
	}
	if err := s.same(t, data); err != nil {
		return 0, err
	}
	for _, name := range []string{relayKey, masterKey} {
		if now, err := os.ReadFile(filepath.Join(data, name)); err != nil || keyLines(now) != keyLines(s.files[name]) {
			return 0, fmt.Errorf("started, and %s holds another key (%v)", name, err)
		}
	}
	if key, err := keyOf(t, data); err != nil || key != s.key {
		return 0, fmt.Errorf("started with the key %s: %w", key, err)
	}
	if !healing {
		return harmless, nil
	}
	if log, err := served(t, data, nil); err != nil || strings.Contains(log, "level=WARN") {
		return 0, fmt.Errorf("made anew, and told again: %w\n%s", err, log)
	}
	return healed, nil
}

// same fails unless all events are there.
func (s *stopped) same(t *testing.T, data string) error {
	events, err := exported(t, data)
	if err == nil && !slices.Equal(texts(events), texts(s.all)) {
		err = fmt.Errorf("%d of %d events, or others", len(events), len(s.all))
	}
	return err
}

func texts(events rig.Events) (all []string) {
	for _, ev := range events {
		all = append(all, ev.String())
	}
	slices.Sort(all)
	return all
}

// keyLines are the keys of a file, without remarks.
func keyLines(text []byte) (keys string) {
	for line := range strings.Lines(strings.ToLower(string(text))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			keys += line + "\n"
		}
	}
	return keys
}
