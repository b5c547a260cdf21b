package managed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/management"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nip01"
)

// TestHeSeesHisOwn: who manages is told of the snapshots that he made alone, by
// names that are no ids, and may delete all but the last of them.
func TestHeSeesHisOwn(t *testing.T) {
	ctx, agent := t.Context(), storetest.NewKey("agent")
	service := snapshots.New(snapshots.Options{
		Bundles: snapshot.New(t.TempDir()), Store: storetest.MustOpen(t), Software: "test",
		Rules:    func(context.Context, *nostr.Event) (bool, string) { return false, "" },
		Settings: snapshots.Settings{Policy: snapshot.DefaultPolicy()},
	})
	made, err := service.Create(ctx, snapshots.CreateRequest{Tenant: bundle.DefaultTenant, Agent: agent.Pub, By: bundle.ByCLI, AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	var waited []time.Duration
	m := New(service, func(d time.Duration) <-chan time.Time {
		waited = append(waited, d)
		c := make(chan time.Time, 1)
		c <- time.Time{}
		return c
	})
	p := management.SnapshotParams{Tenant: bundle.DefaultTenant, Agent: agent.Pub}
	list := func() string {
		t.Helper()
		answer, err := m.List(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := list(); got != `{"snapshots":[],"encryption_available":false}` {
		t.Errorf("beside the operator's: %s", got)
	}
	created, err := m.Create(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if len(waited) == 0 || waited[len(waited)-1] <= 0 || waited[len(waited)-1] > step {
		t.Errorf("create waited %v", waited)
	}
	name := fmt.Sprint(created)[1:] // {name}
	name = strings.TrimSuffix(name, "}")
	if got := list(); !strings.Contains(got, `"id":"`+name+`"`) || strings.Contains(got, made.ID) || strings.Count(got, `"id"`) != 1 {
		t.Errorf("after one is made: %s, want %s alone", got, name)
	}
	for id, want := range map[string]string{
		made.ID: "invalid: no such snapshot",
		name:    "restricted: ",
	} {
		p.ID = id
		if _, err := m.Delete(ctx, p); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("delete %s: %v, want %q", id, err, want)
		}
	}
}

// TestRefused: what is a matter of the request is told in words of its own, and
// nothing of what else went wrong.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{snapshot.ErrPinned, "restricted: it is pinned: unpin it, or say force"},
		{fmt.Errorf("file /secret: %w", bundle.ErrInvalid), "invalid: " + bundle.ErrInvalid.Error() + "; engramd snapshot verify says why"},
		{snapshot.ErrHeld, "error: " + snapshot.ErrHeld.Error() + "; try again"},
		{store.ErrNotCovered, "invalid: " + store.ErrNotCovered.Error()},
	} {
		var told *nip01.Refusal
		if err := refused(c.err); c.want != "" && (!errors.As(err, &told) || told.Error() != c.want) || c.want == "" && err != nil {
			t.Errorf("%v: %v, want %q", c.err, err, c.want)
		}
	}
	var told *nip01.Refusal
	for _, err := range []error{errors.New("disk /dev/sda is on fire"), fmt.Errorf("event 7: %w", nip01.Refuse(nip01.PrefixInvalid, "no d tag"))} {
		if errors.As(refused(err), &told) {
			t.Errorf("a failure is told: %v", told)
		}
	}
}
