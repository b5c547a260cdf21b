package identities_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/identities"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/migrations"
)

// TestNamesThatLookAlikeAreOne: who has a name has all that are taken for it,
// and so does who vanished.
func TestNamesThatLookAlikeAreOne(t *testing.T) {
	clock := storetest.NewClock()
	s, ctx := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now }), t.Context()
	bind := func(id, key string) error {
		_, err := s.AddAgent(ctx, store.Agent{ID: id, PubKey: key}, [32]byte{})
		return err
	}
	if err := bind("Trader-Joe0", alice.Pub); err != nil {
		t.Fatal(err)
	}
	alike := []string{"trader-joe0", "Trader-Joe0.", "Trader_Joe0", "TRADERJOE0", "trader-j-o-e-o", "Trader-JoeO"}
	for _, id := range alike {
		if err := bind(id, bob.Pub); !errors.Is(err, store.ErrNameTaken) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := bind("bill-1", bob.Pub); err != nil {
		t.Fatal(err)
	}
	if err := bind("B1LLI", carol.Pub); !errors.Is(err, store.ErrNameTaken) {
		t.Errorf("signs that look alike: %v", err)
	}
	clock.Add(10e9)
	put(t, s, contractEvent(alice, 62, "x", bob.Pub, clock.Now().Unix(), "", []string{"relay", "ALL_RELAYS"}), store.Stored)
	for _, id := range append(alike, "Trader-Joe0") {
		if err := bind(id, carol.Pub); !errors.Is(err, store.ErrNameTaken) {
			t.Errorf("%s of who vanished: %v", id, err)
		}
	}
	clock.Add(10e9)
	if err := bind("trader.joe0", alice.Pub); err != nil {
		t.Errorf("who comes back under a like name: %v", err)
	}
	wantWhole(t, s)
}

// TestOldNamesAreFoldedAsNewOnes: the migration gives names what the program
// compares them by; those that are the same then stay, whose they are, and are
// told of.
func TestOldNamesAreFoldedAsNewOnes(t *testing.T) {
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	before := 0
	for _, m := range all {
		if strings.HasSuffix(m.Name, "_identities.sql") {
			before = m.Version - 1
		}
	}
	path := storetest.OfVersion(t, before)
	names := []string{"Trader-Joe", "trader_joe.", "OPERATOR", "bill-1", "B.I.L.L.i", "agent-0000", "agent-0001", "x"}
	for i, id := range names {
		sealed := "NULL"
		if id == "agent-0000" {
			sealed = "x'07'"
		}
		outside(t, path, fmt.Sprintf("INSERT INTO contract_agents VALUES ('%s', x'%064x', %s, %d)", id, i+1, sealed, 100+i))
	}
	outside(t, path, "INSERT INTO contract_names_gone VALUES ('Gone-Joe', x'00')")
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = path })
	page, total, err := s.AgentPage(t.Context(), 100, 0)
	if err != nil || total != len(names) || len(page) != total {
		t.Fatalf("%d of %d names, %v", len(page), total, err)
	}
	for _, a := range page {
		folded, err := storetest.OnWriter(identities.DB(s), "SELECT folded FROM contract_agents WHERE agent_id = '"+a.ID+"'")
		if err != nil || folded[0] != store.FoldName(a.ID) || a.Provisioned != (a.ID == "agent-0000") {
			t.Errorf("%+v is folded to %v, %v", a, folded, err)
		}
	}
	if _, err := s.AddAgent(t.Context(), store.Agent{ID: "g.o.n.e.joe", PubKey: alice.Pub}, [32]byte{}); !errors.Is(err, store.ErrNameTaken) {
		t.Errorf("a name like one that is gone: %v", err)
	}
	report, err := s.Check(t.Context())
	if want := [][]string{{"bill-1", "B.I.L.L.i"}, {"Trader-Joe", "trader_joe."}}; err != nil || !reflect.DeepEqual(report.SameNames, want) || !report.OK() {
		t.Errorf("%v, %v, %v; want %v", report.SameNames, report.Problems, err, want)
	}
}

// TestResealChangesEverythingOrNothing.
func TestResealChangesEverythingOrNothing(t *testing.T) {
	s, ctx := storetest.MustOpen(t), t.Context()
	if _, err := s.SetVaultCheck(ctx, []byte("old")); err != nil {
		t.Fatal(err)
	}
	const agents, entries = 100, 150 // more than are held at a time
	for i := range agents {
		if _, err := s.AddAgent(ctx, store.Agent{ID: fmt.Sprint("agent-", i, "x"), PubKey: fmt.Sprintf("%064x", i+1), Sealed: []byte("old a")}, [32]byte{1, byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range entries {
		if _, err := storetest.OnWriter(identities.DB(s), fmt.Sprintf(`INSERT INTO contract_entries(contract, author, other, created_at, id, form, type, entry, arrived_at, data)
			VALUES ('c%d', x'%064x', x'%064x', %d, x'%012x', 2, 'note', 'mem_%012x', 1, CAST('old e' AS BLOB)) RETURNING 1`, i%3, i%5+1, 9, -i, i, i)); err != nil {
			t.Fatal(err)
		}
	}
	left := func(text string) int64 {
		t.Helper()
		n, err := storetest.OnWriter(identities.DB(s), "SELECT (SELECT count(*) FROM contract_agents WHERE CAST(sealed AS TEXT) LIKE '"+text+" _') + (SELECT count(*) FROM contract_entries WHERE CAST(data AS TEXT) LIKE '"+text+" _')")
		if err != nil {
			t.Fatal(err)
		}
		return n[0].(int64)
	}
	again := func(v store.Sealed) ([]byte, error) {
		if (v.Agent == nil) == (v.Entry == nil) || v.Entry != nil && (v.Contract == "" || v.Entry.Type != "note" || len(v.Entry.Author) != 64) {
			t.Fatalf("%+v", v)
		}
		return bytes.Replace(v.Value, []byte("old"), []byte("new"), 1), nil
	}
	if _, err := s.Reseal(ctx, []byte("another"), []byte("new"), again); !errors.Is(err, store.ErrOtherVault) {
		t.Errorf("with another key: %v", err)
	}
	n, broken := 0, errors.New("broken")
	_, err := s.Reseal(ctx, []byte("old"), []byte("new"), func(v store.Sealed) ([]byte, error) {
		if n++; n > agents+entries/2 {
			return nil, broken
		}
		return again(v)
	})
	if check, _ := s.VaultCheck(ctx); !errors.Is(err, broken) || left("old") != agents+entries || string(check) != "old" {
		t.Errorf("cut short: %v, %d are as before, check %q", err, left("old"), check)
	}
	if n, err := s.Reseal(ctx, []byte("old"), []byte("new"), again); err != nil || n != agents+entries || left("new") != agents+entries {
		t.Errorf("%d sealed anew, %v; %d are", n, err, left("new"))
	}
	if check, err := s.VaultCheck(ctx); err != nil || string(check) != "new" {
		t.Errorf("check %q, %v", check, err)
	}
}
