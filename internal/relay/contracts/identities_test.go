package contracts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store/sqlite/storetest"
)

func (a *agents) Void(_ context.Context, name string) (Identity, error) {
	return Identity{AgentID: name}, nil
}

func (a *agents) List(_ context.Context, limit, offset int) (page []Identity, total int, err error) {
	for name, key := range a.names {
		page = append(page, Identity{AgentID: name, PubKey: key})
	}
	slices.SortFunc(page, func(a, b Identity) int { return cmpText(a.AgentID, b.AgentID) })
	total = len(page)
	return page[min(offset, total):min(offset+limit, total)], total, nil
}

func cmpText(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func (a *agents) Delete(_ context.Context, name string, withKey bool) (Identity, error) {
	key, ok := a.names[name]
	if _, held := a.keys[key]; !ok || held && !withKey {
		return Identity{}, Refuse(Conflict, "not so")
	}
	delete(a.names, name)
	return Identity{AgentID: name, PubKey: key}, nil
}

// writers refuse by key.
type writers struct{ banned, unlisted map[string]string }

func (w writers) Banned(_ context.Context, key string) string   { return w.banned[key] }
func (w writers) Unlisted(_ context.Context, key string) string { return w.unlisted[key] }

// TestBindingIsForWhoMayWrite: a key that is banned, or not on the list of
// writers, cannot bind a name; the operator can.
func TestBindingIsForWhoMayWrite(t *testing.T) {
	w := newWorld(t)
	w.writers = writers{map[string]string{mara.Pub: "blocked: this key may not write here"}, map[string]string{will.Pub: "restricted: only listed keys may write here", oper.Pub: "restricted: the same", arby.Pub: "error: it is not known"}}
	bind := func(c Caller, name string) error { return errOf(w.Bind(t.Context(), c, name, c.PubKey)) }
	wantCode(t, "a banned key", bind(holder(mara), "mara"), Forbidden)
	wantCode(t, "a key on no list", bind(holder(will), "will"), Forbidden)
	wantCode(t, "a key of which that is not known", bind(holder(arby), "arby"), Unavailable)
	if err := bind(holder(anna), "anna"); err != nil {
		t.Error(err)
	}
	if err := bind(Caller{PubKey: oper.Pub, Operator: true}, "oper"); err != nil {
		t.Errorf("the operator: %v", err)
	}
}

// TestBindingHasLimits: for each share and for each key; binding the same name
// again costs nothing.
func TestBindingHasLimits(t *testing.T) {
	w := newWorld(t)
	shares := fairness.NewShares(fairness.Rules{})
	from := func(addr string) context.Context {
		return fairness.With(t.Context(), shares.Enter(netip.MustParseAddr(addr)))
	}
	bind := func(ctx context.Context, key storetest.Key, name string) error {
		return errOf(w.Bind(ctx, holder(key), name, key.Pub))
	}
	one, n := from("192.0.2.1"), 0
	fresh := func() (storetest.Key, string) {
		n++
		return storetest.NewKey(fmt.Sprint("fresh ", n)), fmt.Sprint("name-", n)
	}
	for range bindAtOnce {
		key, name := fresh()
		if err := bind(one, key, name); err != nil {
			t.Fatal(err)
		}
	}
	key, name := fresh()
	wantCode(t, "one more of an address", bind(one, key, name), RateLimited)
	if err := bind(one, storetest.NewKey("fresh 1"), "name-1"); err != nil {
		t.Errorf("what is bound: %v", err)
	}
	if err := bind(from("192.0.2.2"), key, name); err != nil {
		t.Errorf("another address: %v", err)
	}
	for range bindAtOnce {
		n++
		wantCode(t, "a name that is taken", bind(from(fmt.Sprint("198.51.100.", n)), anna, "name-1"), Conflict)
	}
	wantCode(t, "one more of a key", bind(from("203.0.113.1"), anna, "anna"), RateLimited)
	w.clock.Add(time.Hour)
	if err := bind(one, anna, "anna"); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// TestBannedKeysWriteNoEntries: neither shared ones, which would stay in the
// thread undelivered for ever, nor private ones.
func TestBannedKeysWriteNoEntries(t *testing.T) {
	w := newWorld(t)
	poster, worker := w.provision("anna", anna), w.provision("will", will)
	c, err := w.Create(t.Context(), poster, CreateRequest{WorkerAgentID: worker.AgentID, Description: "a summary"})
	if err != nil {
		t.Fatal(err)
	}
	w.writers = writers{banned: map[string]string{anna.Pub: "blocked: this key may not write here"}}
	w.refusing(func(*nostr.Event) string { return "blocked: this key may not write here" })
	for _, v := range []Visibility{Shared, PosterOnly} {
		wantCode(t, string(v), errOf(w.Say(t.Context(), poster, c.ContractID, EntryRequest{Type: "note", Visibility: v, Content: "x"})), Forbidden)
	}
	if s, err := w.Summary(t.Context(), poster, c.ContractID); err != nil || s.TotalEntries != 0 {
		t.Errorf("%d entries, %v", s.TotalEntries, err)
	}
}

// TestOperatorManagesIdentities: nobody else does, except that an agent voids
// its own token.
func TestOperatorManagesIdentities(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	operator := Caller{PubKey: oper.Pub, Operator: true}
	held := w.provision("anna", anna)
	w.identities.names["will"] = will.Pub
	for _, c := range []Caller{{}, holder(mara), held} {
		want := Forbidden
		if c.Nobody() {
			want = Unauthenticated
		}
		wantCode(t, "list", errOf(w.Identities(ctx, c, 0, 0)), want)
		wantCode(t, "delete", errOf(w.Forget(ctx, c, "will", true)), want)
		wantCode(t, "void another's", errOf(w.Void(ctx, c, "will")), want)
	}
	page, err := w.Identities(ctx, operator, 1, 1)
	if err != nil || page.Total != 2 || page.Limit != 1 || page.Offset != 1 || len(page.Identities) != 1 || page.Identities[0].AgentID != "will" {
		t.Errorf("%+v, %v", page, err)
	}
	wantCode(t, "a page too large", errOf(w.Identities(ctx, operator, maxPage+1, 0)), Invalid)
	if me, err := w.Me(ctx, held); err != nil || me.AgentID != "anna" || me.PubKey != anna.Pub {
		t.Errorf("me: %+v, %v", me, err)
	}
	wantCode(t, "me without a name", errOf(w.Me(ctx, holder(mara))), NotFound)
	wantCode(t, "nobody's me", errOf(w.Me(ctx, Caller{})), Unauthenticated)
	used := errors.New("used")
	operator.Once = func(context.Context) error { return used }
	if _, err := w.Forget(ctx, operator, "will", false); !errors.Is(err, used) {
		t.Errorf("a proof that is used up: %v", err)
	}
	operator.Once = nil
	if _, err := w.Void(ctx, held, "anna"); err != nil {
		t.Error(err)
	}
	wantCode(t, "a key that would be lost", errOf(w.Forget(ctx, operator, "anna", false)), Conflict)
	for name, withKey := range map[string]bool{"anna": true, "will": false} {
		if _, err := w.Forget(ctx, operator, name, withKey); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantCode(t, "no name", errOf(w.Forget(ctx, operator, "no name", false)), NotFound)
}

func (*sealer) Hold() func() { return func() {} }
