package identity

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

const (
	rotateDir = "ENGRAMD_TEST_ROTATE_DIR" // of the process that is killed
	rotateAt  = "ENGRAMD_TEST_ROTATE_AT"  // and when
)

// folder opens a data folder and what seals in it.
func folder(t *testing.T, dir string) (*sqlite.Store, *vault.Vault) {
	t.Helper()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = filepath.Join(dir, "engramd.db") })
	o := vault.Options{Dir: dir}
	var err error
	if o.Check, err = s.VaultCheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o.Known, err = s.MasterKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := vault.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

// sealed fills a folder with kept keys and private entries.
func sealed(t *testing.T, s *sqlite.Store, v *vault.Vault, n int) {
	t.Helper()
	if _, err := s.SetVaultCheck(t.Context(), v.Check()); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Store: s, Vault: v})
	for i := range n {
		if _, err := r.Provision(t.Context(), fmt.Sprintf("agent-%dx", i)); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Put(t.Context(), alice.State(bob, 0, "c", "", "open"), store.PutOptions{}); got.Err != nil || got.Outcome != store.Stored {
		t.Fatalf("%+v", got)
	}
	for i := range n {
		e := store.ThreadEntry{Author: alice.Pub, Other: bob.Pub, CreatedAt: 100 + int64(i), ID: []byte{1, 2, 3, 4, 5, byte(i)}, Form: store.EntryPrivate, Type: "note", Entry: fmt.Sprintf("mem_01020304%04x", i)}
		var err error
		if e.Data, err = v.Seal(fmt.Appendf(nil, "note %d", i), contracts.PlaceOf("c", &e)); err != nil {
			t.Fatal(err)
		}
		if err := s.Tell(t.Context(), store.AddPrivateEntry{Contract: "c", Entry: e, Most: 1000}); err != nil {
			t.Fatal(err)
		}
	}
}

// wantOpen opens everything that is sealed.
func wantOpen(t *testing.T, s *sqlite.Store, v *vault.Vault, n int) {
	t.Helper()
	r, opened := New(Options{Store: s, Vault: v}), 0
	for i := range n {
		a, err := s.AgentByID(t.Context(), fmt.Sprintf("agent-%dx", i))
		if err != nil || a == nil {
			t.Fatalf("%+v, %v", a, err)
		}
		if _, err := r.secret(a); err != nil {
			t.Errorf("a kept key: %v", err)
		}
	}
	rows, _, err := s.ThreadPage(t.Context(), store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub, Party: true, Reader: alice.Pub}, 500, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		plain, err := v.Open(rows[i].Data, contracts.PlaceOf("c", &rows[i]))
		if err != nil || !bytes.HasPrefix(plain, []byte("note ")) {
			t.Errorf("a private entry: %q, %v", plain, err)
		}
		opened++
	}
	if opened != n {
		t.Errorf("%d private entries, want %d", opened, n)
	}
}

// dying is a register whose process is killed.
type dying struct {
	Register
	at string
}

func (d dying) die(at string) {
	if d.at == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (d dying) Reseal(ctx context.Context, was, now []byte, again func(sealed, row []byte) ([]byte, error)) (int, error) {
	d.die("staged")
	done := 0
	n, err := d.Register.Reseal(ctx, was, now, func(sealed, row []byte) ([]byte, error) {
		if done++; done == 110 {
			d.die("sealing")
		}
		return again(sealed, row)
	})
	d.die("committed")
	return n, err
}

// TestKilledWhileRotating: wherever a change of the master key is cut short,
// the next start opens everything, and the change can be made again.
func TestKilledWhileRotating(t *testing.T) {
	if dir := os.Getenv(rotateDir); dir != "" {
		s, v := folder(t, dir)
		d := dying{Register{s}, os.Getenv(rotateAt)}
		if _, err := v.Rotate(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		d.die("switched")
		t.Fatal("it lives")
	}
	const n = 70
	for _, at := range []string{"staged", "sealing", "committed", "switched"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			t.Run("before", func(t *testing.T) { // closes the database
				s, v := folder(t, dir)
				sealed(t, s, v, n)
			})
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileRotating$")
			cmd.Env = append(os.Environ(), rotateDir+"="+dir, rotateAt+"="+at)
			out, err := cmd.CombinedOutput()
			if state, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || state.Signal() != syscall.SIGKILL {
				t.Fatalf("the process was not killed: %v, %s", err, out)
			}
			for range 2 {
				t.Run("after", func(t *testing.T) {
					s, v := folder(t, dir)
					wantOpen(t, s, v, n)
					if done, err := v.Rotate(t.Context(), Register{s}); err != nil || done.Sealed != 2*n {
						t.Errorf("again: %+v, %v", done, err)
					}
					wantOpen(t, s, v, n)
				})
			}
		})
	}
}

// TestSealedWhileRotating: what is sealed while the key changes again and again
// opens after it, and after the next start.
func TestSealedWhileRotating(t *testing.T) {
	dir, names := t.TempDir(), make([][]string, 4)
	t.Run("changes", func(t *testing.T) {
		s, v := folder(t, dir)
		if _, err := s.SetVaultCheck(t.Context(), v.Check()); err != nil {
			t.Fatal(err)
		}
		r := New(Options{Store: s, Vault: v})
		var sealing sync.WaitGroup
		over := make(chan struct{})
		for w := range names {
			sealing.Go(func() {
				for i := 0; ; i++ {
					name := fmt.Sprintf("agent-%dx%dy", w, i)
					if _, err := r.Provision(t.Context(), name); err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					names[w] = append(names[w], name)
					select {
					case <-over:
						return
					default:
					}
				}
			})
		}
		for range 5 {
			if _, err := v.Rotate(t.Context(), Register{s}); err != nil {
				t.Error(err)
			}
		}
		close(over)
		sealing.Wait()
	})
	s, v := folder(t, dir)
	r := New(Options{Store: s, Vault: v})
	for _, name := range slices.Concat(names...) {
		a, err := s.AgentByID(t.Context(), name)
		if err != nil || a == nil {
			t.Fatalf("%s: %+v, %v", name, a, err)
		}
		if _, err := r.secret(a); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
