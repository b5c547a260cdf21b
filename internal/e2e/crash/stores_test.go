package crash

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestStores_OldDatabasesAreServed opens a copy of every database of an earlier
// version in testdata/stores. All that it held is there, what it had deleted
// stays deleted, and new writes work.
func TestStores_OldDatabasesAreServed(t *testing.T) {
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "testdata", "stores", "*", "expect.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no databases under testdata/stores: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { serveOld(t, filepath.Dir(file)) })
	}
}

// oldDatabase is the file of a version, packed or as it is.
func oldDatabase(t *testing.T, folder string) []byte {
	t.Helper()
	packed, err := os.Open(filepath.Join(folder, "engramd.db.gz"))
	if errors.Is(err, os.ErrNotExist) {
		file, err := os.ReadFile(filepath.Join(folder, "engramd.db"))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	in, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	file, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func serveOld(t *testing.T, folder string) {
	var want relaytest.StoreExpectation
	text, err := os.ReadFile(filepath.Join(folder, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("expect.json: %v", err)
	}
	file := oldDatabase(t, folder)
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "engramd.db"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	// The identity with which genstore makes them; older ones had none.
	if err := os.WriteFile(filepath.Join(data, "relay.key"), []byte(relaytest.NewKey(relaytest.StoreKey).Secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	forever := "ENGRAMD_HISTORY_DAYS=0" // the file becomes older than a year
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Watched, Data: data, Env: []string{rig.Exclude, forever}})
	if r := relay.Run(nil, "check", "--data", data); r.Code != 0 {
		t.Errorf("check: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	rig.WantIDs(t, "heads", slices.Sorted(maps.Keys(rig.Exported(t, relay))), want.Heads)
	all := slices.Concat(want.Heads, want.History)
	slices.Sort(all)
	rig.WantIDs(t, "heads and history", slices.Sorted(maps.Keys(rig.Exported(t, relay, "--history"))), all)

	c := rig.Dial(t, relay, relaytest.Owner())
	for word, n := range want.Search {
		if a := c.MustQuery(relaytest.Filter{"search": word, "kinds": []int{1, 30023}}); len(a.Events) != n {
			t.Errorf("search for %q: %d events, want %d", word, len(a.Events), n)
		}
	}
	for _, one := range want.Refused {
		if ok := c.MustPublish(one.Event); ok.True || ok.Message != one.Message && !rig.HasPrefix(ok.Message, one.Message) {
			t.Errorf("kind %d %q: OK %v %q, want false %q", one.Event.Kind, one.Event.Content, ok.True, ok.Message, one.Message)
		}
	}
	for _, ev := range want.Accepted {
		if ok := c.MustPublish(ev); !ok.True || ok.Message != "" {
			t.Errorf("kind %d %q: OK %v %q, want true", ev.Kind, ev.Content, ok.True, ok.Message)
		}
	}
	owned := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{relaytest.Owner().Pub}}
	if n, a := c.MustCount(owned), c.MustQuery(owned); n == 0 || int(n) != len(a.Events) {
		t.Errorf("the owner counts %d engrams and reads %d", n, len(a.Events))
	}
	if r := relay.Run(nil, "check", "--data", data); r.Code != 0 {
		t.Errorf("check after writing: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}
