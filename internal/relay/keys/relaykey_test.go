package keys

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// rig is a data folder with its database.
type rig struct {
	*testing.T
	store *sqlite.Store
	o     Options
	named map[string]bool // keys that contracts without an end name
}

func newRig(t *testing.T) *rig {
	return &rig{T: t, store: storetest.MustOpen(t), o: Options{Dir: t.TempDir()}, named: map[string]bool{}}
}

// RelayKeys and the others make the rig a Register whose contracts are those of
// named.
func (r *rig) RelayKeys(ctx context.Context) ([]store.RelayKey, error) { return r.store.RelayKeys(ctx) }

func (r *rig) SetRelayKey(ctx context.Context, key string, revoke bool) error {
	return r.store.SetRelayKey(ctx, key, revoke)
}

func (r *rig) RevokeRelayKey(ctx context.Context, key string) (bool, error) {
	return r.store.RevokeRelayKey(ctx, key)
}

func (r *rig) ContractsNaming(_ context.Context, key string) (int, error) {
	if r.named[key] {
		return 1, nil
	}
	return 0, nil
}

func (r *rig) path() string { return filepath.Join(r.o.Dir, FileName) }

func (r *rig) open() *Ring {
	r.Helper()
	ring, err := Open(r.Context(), r.o, r)
	if err != nil {
		r.Fatal(err)
	}
	return ring
}

// refused wants that Open and Look fail alike, with this error, and that no
// secret is told.
func (r *rig) refused(what string, want error) {
	r.Helper()
	_, err := Open(r.Context(), r.o, r)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), r.o.place().name) {
		r.Errorf("%s: Open says %v, want %v", what, err, want)
	}
	if look := Look(r.o, r.inUse()); !errors.Is(look, want) {
		r.Errorf("%s: Look says %v, want %v", what, look, want)
	}
	for _, secret := range secrets(r.T, r.path()) {
		if err != nil && strings.Contains(err.Error(), secret) {
			r.Errorf("%s: the error tells the secret", what)
		}
	}
}

func (r *rig) inUse() string {
	r.Helper()
	key, err := inUse(r.Context(), r)
	if err != nil {
		r.Fatal(err)
	}
	return key
}

// secrets are the lines of a key file.
func secrets(t *testing.T, path string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	err = keyfile.Lines(text, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func pubOf(t *testing.T, secret string) string {
	t.Helper()
	pub, err := nostr.GetPublicKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return pub
}

// held are the public keys of a key file.
func (r *rig) held() (keys []string) {
	r.Helper()
	for _, s := range secrets(r.T, r.path()) {
		keys = append(keys, pubOf(r.T, s))
	}
	return keys
}

func (r *rig) write(lines ...string) {
	r.Helper()
	if err := os.WriteFile(r.path(), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		r.Fatal(err)
	}
}

func TestFirstStartMakesAKey(t *testing.T) {
	r := newRig(t)
	if err := Look(r.o, ""); err != nil {
		t.Errorf("before the first start: %v", err)
	}
	ring := r.open()
	info, err := os.Stat(r.path())
	if err != nil || info.Mode().Perm() != 0o600 || ring.Source() != r.path() {
		t.Fatalf("%v, %v, source %s", info, err, ring.Source())
	}
	if keys := r.held(); !slices.Equal(keys, []string{ring.PubKey()}) || r.inUse() != ring.PubKey() {
		t.Errorf("the file holds %v, the database knows %s, the ring %s", keys, r.inUse(), ring.PubKey())
	}
	if again := r.open(); again.PubKey() != ring.PubKey() {
		t.Error("the second start has another key")
	}
	if other := newRig(t); other.open().PubKey() == ring.PubKey() {
		t.Error("two relays have one key")
	}
	ev := &nostr.Event{Kind: 24174, CreatedAt: 1}
	if err := ring.Sign(ev); err != nil || ev.PubKey != ring.PubKey() || wire.Verify(ev) != nil {
		t.Errorf("signed %v, %v", ev, err)
	}
	if text := fmt.Sprintf("%+v %#v %v", ring.Key(), ring.Key(), ring); strings.Contains(text, secrets(t, r.path())[0]) {
		t.Error("the ring shows its secret")
	}
}

// TestFirstStartTakesTheSeed: the key under which further relays may know this
// one stays, if it is one.
func TestFirstStartTakesTheSeed(t *testing.T) {
	r := newRig(t)
	seed := bytes.Repeat([]byte{5}, 32)
	r.o.Seed = func() ([]byte, error) { return bytes.Clone(seed), nil }
	if ring := r.open(); ring.PubKey() != pubOf(t, hex.EncodeToString(seed)) {
		t.Errorf("the key is %s", ring.PubKey())
	}
	r = newRig(t)
	r.o.Seed = func() ([]byte, error) { return nil, errors.New("no seed") }
	if _, err := Open(t.Context(), r.o, r); err == nil || r.inUse() != "" {
		t.Errorf("began without its seed: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	r := newRig(t)
	ring := r.open()
	kept := secrets(t, r.path())[0]
	if err := os.Remove(r.path()); err != nil {
		t.Fatal(err)
	}
	r.refused("the file is gone", ErrLost)
	if _, err := os.Stat(r.path()); err == nil {
		t.Fatal("a second key was made")
	}
	r.write(strings.Repeat("7", 64))
	r.refused("another key", ErrOther)
	r.write(strings.Repeat("7", 64), kept)
	r.refused("the key is a former one here", ErrOther)
	for _, text := range []string{"", "hunter2", kept + kept, kept[2:], strings.Repeat("0", 64), strings.Repeat("f", 64), kept + "\nhunter2"} {
		r.write(text)
		r.refused("the file says "+text, ErrKey)
	}
	r.write(slices.Repeat([]string{kept}, maxKeys+1)...)
	r.refused("too many keys", ErrKey)
	r.write(strings.ToUpper(kept))
	if err := os.Chmod(r.path(), 0o604); err != nil {
		t.Fatal(err)
	}
	r.refused("readable by all", keyfile.ErrExposed)
	if err := os.Chmod(r.path(), 0o640); err != nil {
		t.Fatal(err)
	}
	if again := r.open(); again.PubKey() != ring.PubKey() {
		t.Error("the key came back as another one")
	}
	if err := Look(r.o, ring.PubKey()); err != nil {
		t.Error(err)
	}
}

// TestGivenKey: a key that the operator names is taken, and none is made where
// it is not.
func TestGivenKey(t *testing.T) {
	for _, setting := range []string{"env:RELAY", filepath.Join(t.TempDir(), "given")} {
		r := newRig(t)
		secret := strings.Repeat("3", 64)
		value := ""
		r.o.Setting = setting
		r.o.Env = func(name string) (string, bool) { return value, name == "RELAY" && value != "" }
		if _, err := Open(t.Context(), r.o, r); err == nil {
			t.Fatalf("%s: began without a key", setting)
		}
		if value = secret; !strings.HasPrefix(setting, "env:") {
			if err := os.WriteFile(setting, []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if ring := r.open(); ring.PubKey() != pubOf(t, secret) {
			t.Errorf("%s: the key is %s", setting, ring.PubKey())
		}
		if _, err := os.Stat(r.path()); err == nil {
			t.Error("a file was made although a key was given")
		}
	}
}
