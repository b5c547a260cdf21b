//go:build nightly

package rot

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// folder is what lies in one, by paths from it.
type folder struct {
	files map[string][]byte
}

// place is one bit of a file.
type place struct {
	file string
	bit  int
}

func (p place) String() string {
	return fmt.Sprintf("bit %d of byte %d of %s", p.bit%8, p.bit/8, p.file)
}

// fate is what became of a flip.
type fate int

const (
	refused  fate = iota + 1 // said, and nothing else was done
	healed                   // said, and made anew
	torn                     // taken for a last commit that was cut short
	harmless                 // all is as it was
)

// tally counts them.
type tally struct {
	sync.Mutex
	n [harmless + 1]int
}

func (t *tally) String() string {
	return fmt.Sprintf("%d flips: %d refused, %d healed, %d as a torn end, %d harmless, %d wrong",
		t.n[0]+t.n[refused]+t.n[healed]+t.n[torn]+t.n[harmless], t.n[refused], t.n[healed], t.n[torn], t.n[harmless], t.n[0])
}

// each lives through flips, as many at a time as there are processors.
func each(t *testing.T, tally *tally, places []place, live func(*testing.T, place) (fate, error)) {
	t.Helper()
	work := make(chan place)
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for p := range work {
				f, err := live(t, p)
				if err != nil {
					t.Errorf("%v: %v", p, err)
					f = 0
				}
				tally.Lock()
				tally.n[f]++
				tally.Unlock()
			}
		})
	}
	for _, p := range places {
		work <- p
	}
	close(work)
	working.Wait()
}

// readFolder reads all files, but for those that only a running process has.
func readFolder(t *testing.T, dir string) folder {
	t.Helper()
	f := folder{files: map[string][]byte{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, ".lock") {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f.files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// write makes a folder of it, with bits flipped.
func (f folder) write(dir string, flipped ...place) error {
	for name, text := range f.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		for _, p := range flipped {
			if p.file == name {
				text = bytes.Clone(text)
				text[p.bit/8] ^= 1 << (p.bit % 8)
			}
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// served starts a relay on a folder, asks, and stops it. The log is returned also where
// the start is refused, which the error says.
func served(t *testing.T, data string, ask func(*relaytest.Child) error) (log string, err error) {
	relay, err := relaytest.Launch(t, relaytest.Options{Build: rig.Plain, Data: data, Env: []string{rig.Exclude, "ENGRAMD_STORE_MAX_BYTES=0"}}) // a disk that is nearly full is warned of
	if relay == nil {
		return "", err
	}
	if err != nil {
		return relay.Log.Text(), err
	}
	if ask != nil {
		err = ask(relay)
	}
	if code, _ := relay.Stop(); code != 0 && err == nil {
		err = fmt.Errorf("exit code %d\n%s", code, relay.Log.Text())
	}
	return relay.Log.Text(), err
}

// exported is what an export with its history gives.
func exported(t *testing.T, data string) (rig.Events, error) {
	r := relaytest.RunBinary(t, rig.Plain, nil, nil, "export", "--history", "--data", data)
	if r.Code != 0 {
		return nil, fmt.Errorf("export: exit code %d\n%s", r.Code, r.Stderr)
	}
	return rig.ParseEvents(r.Stdout)
}
