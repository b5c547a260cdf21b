//go:build nightly

package gate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// Kinds that no version gates: one regular, one addressable.
const (
	laterKind        = 64201
	laterAddressable = 39175
)

// TestKindGatedByALaterVersion: a version with two more kinds in the gate's
// table opens a database that contains such events. From its first answer on
// only their parties read them, without any request to class them anew; and the
// repair that check advises before that start works.
func TestKindGatedByALaterVersion(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: []string{rig.Exclude}})
	sign := func(at int64, kind int, tags ...nostr.Tag) *nostr.Event {
		return relaytest.Sign(rig.GateAgent, kind, at, "cedar", tags...)
	}
	to := rig.Tag("p", rig.GateOwner.Pub)
	open := sign(1_700_000_001, 1, to)
	metrics := sign(1_700_000_002, laterKind, to)
	older := sign(1_700_000_003, laterAddressable, rig.Tag("d", "x"), to)
	memory := sign(1_700_000_004, laterAddressable, rig.Tag("d", "x"), to)
	request := sign(1_700_000_005, 5, rig.Tag("k", fmt.Sprint(laterKind)))
	gated := []*nostr.Event{metrics, memory, request}
	rig.Dial(t, relay).Store(open, metrics, older, memory, request)
	everything := relaytest.Filter{"authors": []string{rig.GateAgent.Pub}}
	if got := rig.Dial(t, relay).MustCount(everything); got != 4 {
		t.Fatalf("%d events are open before, want 4", got)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}

	later := relaytest.Build{Overlay: moreEntries(t,
		fmt.Sprintf("{Number: %d, Class: Wrap}", laterKind), fmt.Sprintf("{Number: %d, Class: Engram}", laterAddressable))}
	check := func() relaytest.Result {
		return relaytest.RunBinary(t, later, nil, nil, "check", "--data", relay.Data)
	}
	if r := check(); r.Code != 1 || !strings.Contains(string(r.Stdout), "what to do: start engramd serve") {
		t.Errorf("check before the start: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	relay = relaytest.Start(t, relaytest.Options{Build: later, Data: relay.Data, Env: []string{rig.Exclude}})
	for name, keys := range map[string][]relaytest.Key{"nobody": nil, "a stranger": {rig.GateStranger}} {
		t.Run(name, func(t *testing.T) { wantOpenOnly(t, relay, keys, open, gated) })
	}
	for name, c := range map[string]struct {
		key  relaytest.Key
		want []*nostr.Event
	}{"the author": {rig.GateAgent, []*nostr.Event{request, memory, open}}, "the owner": {rig.GateOwner, []*nostr.Event{memory, metrics, open}}} {
		rig.WantIDs(t, "as "+name, rig.Dial(t, relay, c.key).MustQuery(everything).IDs(), rig.IDs(c.want...))
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if r := check(); r.Code != 0 {
		t.Errorf("check after it: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// wantOpenOnly looks for the gated events on every surface that returns stored
// ones, except by id, because the id of an event in the class of engrams opens
// it.
func wantOpenOnly(t *testing.T, relay *relaytest.Child, keys []relaytest.Key, open *nostr.Event, gated []*nostr.Event) {
	t.Helper()
	p := rig.Dial(t, relay, keys...)
	prefix, caller := "auth-required: ", relaytest.NewKey(77)
	if len(keys) > 0 {
		prefix, caller = "restricted: ", keys[0]
	}
	for _, f := range []relaytest.Filter{{"kinds": []int{laterKind}}, {"kinds": []int{1, laterAddressable}}, {"kinds": []int{laterKind}, "ids": rig.IDs(gated...)}} {
		p.Closed(prefix, f)
		if _, closed, err := p.Count(f); err != nil || !strings.HasPrefix(closed, prefix) {
			t.Errorf("COUNT %v: %q, %v", f, closed, err)
		}
		for _, path := range []string{"/query", "/count"} {
			if r := postFilter(t, relay, caller, path, f); r.Status != 403 {
				t.Errorf("%s %v: %d %s", path, f, r.Status, r.Body)
			}
		}
	}
	keyless := rig.IDs(gated[0], gated[2], open)
	for _, f := range []relaytest.Filter{
		{"authors": []string{rig.GateAgent.Pub}}, {"#p": []string{rig.GateOwner.Pub}}, {"ids": keyless}, {"kinds": []int{1, 5}, "authors": []string{rig.GateAgent.Pub}}, {},
	} {
		rig.WantIDs(t, fmt.Sprint("REQ ", f), p.MustQuery(f).IDs(), rig.IDs(open))
		if n := p.MustCount(f); n != 1 {
			t.Errorf("COUNT %v: %d, want 1", f, n)
		}
		var found []*nostr.Event
		if r := postFilter(t, relay, caller, "/query", f); json.Unmarshal(r.Body, &found) != nil || len(found) != 1 || found[0].ID != open.ID {
			t.Errorf("/query %v: %d %s", f, r.Status, r.Body)
		}
		if r := postFilter(t, relay, caller, "/count", f); strings.TrimSpace(string(r.Body)) != `{"count":1}` {
			t.Errorf("/count %v: %d %s", f, r.Status, r.Body)
		}
	}
	path := fmt.Sprintf("/history?kind=%d&author=%s&d=x", laterAddressable, rig.GateAgent.Pub)
	if r, err := relay.Get(caller, path); err != nil || strings.Contains(string(r.Body), "cedar") {
		t.Errorf("%s: %s, %v", path, r.Body, err)
	}
}

func postFilter(t *testing.T, relay *relaytest.Child, k relaytest.Key, path string, f relaytest.Filter) relaytest.Response {
	t.Helper()
	body, err := json.Marshal([]relaytest.Filter{f})
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.Post(k, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// moreEntries writes an overlay in which the gate's table of kinds has further
// entries, and all else is unchanged.
func moreEntries(t *testing.T, entries ...string) string {
	t.Helper()
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	const last = "\n}\n\n// entry is "
	path := filepath.Join(root, "internal/relay/gate/kinds.go")
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(table), last)
	if !ok {
		t.Fatalf("the end of the table is not in %s", path)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "kinds.go")
	if err := os.WriteFile(changed, []byte(before+"\n\t"+strings.Join(entries, ",\n\t")+","+last+after), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}
