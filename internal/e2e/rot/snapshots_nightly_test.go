//go:build nightly

package rot

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestFlipsOfSnapshots flips one bit of a snapshot, at 60 places or more, and of what
// lies beside it, at 30 each. It is not verified and not restored, or restored as it was
// made.
func TestFlipsOfSnapshots(t *testing.T) {
	n := 30
	if rig.Soak() {
		n = 300
	}
	rng := rand.New(rand.NewPCG(rig.Seed(t), 7))
	s := newStopped(t)
	var places []place
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		if strings.HasPrefix(file, "tenants") {
			if places = append(places, s.spread(rng, file, n)...); strings.HasSuffix(file, ".zst") {
				places = append(places, s.spread(rng, file, n)...)
			}
		}
	}
	whole := rig.Events{}
	for _, place := range places {
		if !strings.HasSuffix(place.file, ".zst") {
			continue
		}
		restored, r, err := s.restore(t, s.folder, place.file, true)
		if err != nil || r.Code != 0 {
			t.Fatal(err, r.Stderr)
		}
		whole = restored
		break
	}
	if len(whole) != 10 {
		t.Fatalf("%d events are restored", len(whole))
	}
	var tally tally
	each(t, &tally, places, func(t *testing.T, p place) (fate, error) { return s.snapshot(t, whole, p) })
	t.Log(&tally)
	if tally.n[refused] < n {
		t.Error("so few flips were found that they prove nothing")
	}
}

// snapshot lives through the flip of a file of a snapshot, with its sum beside it and
// without.
func (s *stopped) snapshot(t *testing.T, whole rig.Events, p place) (fate, error) {
	name, _, _ := strings.Cut(p.file, ".")
	bundle := name + ".tar.zst"
	data := filepath.Join(t.TempDir(), "data")
	defer os.RemoveAll(data)
	if err := s.write(data, p); err != nil {
		return 0, err
	}
	at := readFolder(t, data)
	verify := relaytest.RunBinary(t, rig.Plain, nil, nil, "snapshot", "verify", "--data", data, "--agent", relaytest.Agent().Pub, "--id", filepath.Base(name))
	become := harmless
	if verify.Code != 0 {
		if become = refused; !bytes.Contains(verify.Stdout, []byte("failed ")) && verify.Stderr == "" {
			return 0, fmt.Errorf("verify does not say why it ends with %d", verify.Code)
		}
	}
	for _, beside := range []bool{true, false} {
		events, r, err := s.restore(t, at, bundle, beside)
		switch {
		case err != nil:
			return 0, err
		case r.Code != 0 && (len(events) > 0 || r.Stderr == ""):
			return 0, fmt.Errorf("restore ends with %d, %d events and says %q", r.Code, len(events), r.Stderr)
		case r.Code == 0 && !slices.Equal(texts(events), texts(whole)):
			return 0, fmt.Errorf("restored are %d of %d events, or others", len(events), len(whole))
		case beside && r.Code == 0 && become == refused && strings.HasSuffix(p.file, ".zst"):
			return 0, errors.New("verify refuses it, and restore takes it")
		case beside && r.Code != 0 && become == harmless:
			return 0, fmt.Errorf("verify says that it is whole, and restore refuses it: %s", r.Stderr)
		}
	}
	return become, nil
}

// restore restores a snapshot of a folder to a new one, trusted by the relay's key.
func (s *stopped) restore(t *testing.T, from folder, bundle string, beside bool) (rig.Events, relaytest.Result, error) {
	dir := t.TempDir()
	defer os.RemoveAll(dir)
	file, data := filepath.Join(dir, filepath.Base(bundle)), filepath.Join(dir, "data")
	err := errors.Join(os.WriteFile(file, from.files[bundle], 0o600), os.Mkdir(data, 0o700))
	if beside {
		err = errors.Join(err, os.WriteFile(file+".sha256", from.files[bundle+".sha256"], 0o600))
	}
	if err != nil {
		return nil, relaytest.Result{}, err
	}
	r := relaytest.RunBinary(t, rig.Plain, nil, nil, "snapshot", "restore", "--data", data, "--agent", relaytest.Agent().Pub, "--from", file, "--trust", s.key)
	if _, err := os.Stat(filepath.Join(data, "engramd.db")); err != nil && r.Code != 0 {
		return nil, r, nil // it was refused before there was a database
	}
	events, err := exported(t, data)
	return events, r, err
}
