package vault

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/relay/keys/keyfile"
)

// register is a database of one sealed value.
type register struct {
	known, value []byte
	fails        error // before the commit
	lost         error // of the commit's answer
	blind        error // of MasterKey
}

func (r *register) MasterKey(context.Context) ([]byte, error) { return r.known, r.blind }

func (r *register) Reseal(_ context.Context, was, now []byte, again func(sealed, row []byte) ([]byte, error)) (int, error) {
	if !bytes.Equal(was, r.known) {
		return 0, errors.New("another key")
	}
	value, err := again(r.value, []byte("row"))
	if err = errors.Join(err, r.fails); err != nil {
		return 0, err
	}
	r.known, r.value = bytes.Clone(now), value
	return 1, r.lost
}

// sealedIn returns a vault in a new folder, and a database with one sealed
// value.
func sealedIn(t *testing.T) (Options, *Vault, *register) {
	t.Helper()
	o := Options{Dir: t.TempDir()}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return o, v, &register{known: bytes.Clone(v.Check()), value: mustSeal(t, v, []byte("row"), "secret")}
}

// wantOpens fails unless a start finds the key of the database.
func wantOpens(t *testing.T, o Options, r *register) *Vault {
	t.Helper()
	o.Check, o.Known = r.known, r.known
	if err := Look(o); err != nil {
		t.Errorf("look: %v", err)
	}
	v, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := v.Open(r.value, []byte("row")); err != nil || string(plain) != "secret" {
		t.Errorf("opened %q, %v", plain, err)
	}
	return v
}

func TestRotate(t *testing.T) {
	o, v, r := sealedIn(t)
	path, old := filepath.Join(o.Dir, FileName), bytes.Clone(r.value)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	done, err := v.Rotate(t.Context(), r)
	if err != nil || done.Sealed != 1 || done.Place != path || bytes.Equal(old, r.value) || !bytes.Equal(v.Check(), r.known) {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, sealed := range [][]byte{old, r.value} { // what was read before the change opens after it
		if plain, err := v.Open(sealed, []byte("row")); err != nil || string(plain) != "secret" {
			t.Errorf("opened %q, %v", plain, err)
		}
	}
	wantOpens(t, o, r)
	former, err := os.ReadFile(done.Former)
	info, statErr := os.Stat(done.Former)
	if err != nil || statErr != nil || !bytes.Equal(former, before) || info.Mode().Perm() != 0o600 {
		t.Errorf("the former key: %v, %v", err, info)
	}
	opener, err := Open(Options{Setting: done.Former})
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := opener.Open(old, []byte("row")); err != nil || string(plain) != "secret" {
		t.Errorf("of a backup: %q, %v", plain, err)
	}
	if _, err := v.Rotate(t.Context(), r); err != nil {
		t.Error(err)
	}
	if _, err := v.Open(old, []byte("row")); !errors.Is(err, ErrOtherKey) {
		t.Errorf("two changes later: %v", err)
	}
	wantOpens(t, o, r)
}

// TestRotateCutShort leaves each state that a crash may leave: every start
// finds the key that the database names.
func TestRotateCutShort(t *testing.T) {
	for _, committed := range []bool{false, true} {
		o, v, r := sealedIn(t)
		path := filepath.Join(o.Dir, FileName)
		next, err := v.stageNext(v.keys.Load().now)
		if err != nil {
			t.Fatal(err)
		}
		if committed {
			if _, err := r.Reseal(t.Context(), v.Check(), next.check[:], func(sealed, row []byte) ([]byte, error) {
				plain, err := v.Open(sealed, row)
				return must(t, next, plain, row), err
			}); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := os.ReadFile(path)
		o.Known, o.Check = r.known, r.known
		if err := Look(o); err != nil {
			t.Error(err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Error("a look has changed the file")
		}
		for range 2 {
			v = wantOpens(t, o, r)
		}
		if after, _ := os.ReadFile(path); bytes.Equal(before, after) == committed {
			t.Errorf("committed %t: the file has changed: %t", committed, !bytes.Equal(before, after))
		}
		if _, err := v.Rotate(t.Context(), r); err != nil {
			t.Errorf("the next change: %v", err)
		}
		wantOpens(t, o, r)
		if _, err := os.Stat(keyfile.Next(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("beside the file: %v", err)
		}
	}
}

func must(t *testing.T, k *key, plain, row []byte) []byte {
	t.Helper()
	sealed, err := k.seal(plain, row)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// TestRotateThatFails: the key is the old one, or the one that the database
// names.
func TestRotateThatFails(t *testing.T) {
	broken := errors.New("broken")
	o, v, r := sealedIn(t)
	r.fails = broken
	if _, err := v.Rotate(t.Context(), r); !errors.Is(err, broken) {
		t.Errorf("not committed: %v", err)
	}
	if files, err := os.ReadDir(o.Dir); err != nil || len(files) != 1 || !bytes.Equal(v.Check(), r.known) {
		t.Errorf("%v, %v", files, err)
	}
	wantOpens(t, o, r)
	r.fails, r.lost = nil, broken
	if _, err := v.Rotate(t.Context(), r); err != nil || !bytes.Equal(v.Check(), r.known) {
		t.Errorf("committed, though the answer was lost: %v", err)
	}
	wantOpens(t, o, r)
	r.blind = broken
	if _, err := v.Rotate(t.Context(), r); !errors.Is(err, broken) || !strings.Contains(err.Error(), "next start") {
		t.Errorf("it is not known: %v", err)
	}
	wantOpens(t, o, r)
}

// TestRotateOfNoFile: the error says what to do.
func TestRotateOfNoFile(t *testing.T) {
	o, v, r := sealedIn(t)
	if _, err := Off("it is off").Rotate(t.Context(), r); !errors.Is(err, ErrOff) || !strings.Contains(err.Error(), "it is off") {
		t.Errorf("off: %v", err)
	}
	inEnv, err := Open(Options{Setting: "env:KEY", Env: func(string) (string, bool) { return someKey, true }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inEnv.Rotate(t.Context(), r); !errors.Is(err, ErrEnv) || !strings.Contains(err.Error(), "KEY") {
		t.Errorf("a variable: %v", err)
	}
	path := filepath.Join(o.Dir, FileName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Rotate(t.Context(), r); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is gone: %v", err)
	}
	write(t, path, someKey, 0o600)
	if _, err := v.Rotate(t.Context(), r); !errors.Is(err, ErrWrongKey) {
		t.Errorf("the file is another: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != someKey {
		t.Errorf("a file that is not its own was changed: %v", err)
	}
}
