package management_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"engramd/internal/relay/management"
	"engramd/internal/relay/store"
)

func TestSupportedMethods(t *testing.T) {
	all := slices.DeleteFunc(management.Methods(), func(m string) bool { return m == "supportedmethods" })
	for _, snapshots := range []bool{false, true} {
		o, want := management.Options{}, all
		if snapshots {
			o.Snapshots = &fakeSnapshots{}
		} else {
			want = slices.DeleteFunc(slices.Clone(all), func(m string) bool { return strings.HasSuffix(m, "snapshot") || strings.HasSuffix(m, "snapshots") })
		}
		w := newWorld(t, management.Config{}, o)
		var got []string
		if err := json.Unmarshal([]byte(w.call("supportedmethods")), &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
		// What is listed is there, and what is not is not.
		for _, m := range all {
			answer := w.call(m, 1, 2, 3, 4)
			if there := strings.HasPrefix(answer, "invalid: this method takes"); there != slices.Contains(want, m) {
				t.Errorf("%s: %s", m, answer)
			}
		}
	}
}

func TestWrongCalls(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{Snapshots: &fakeSnapshots{}})
	for body, want := range map[string]string{
		``: "invalid: the body must be", `[]`: "invalid: the body must be", `null`: "invalid: there is no method", `{}`: "invalid: there is no method",
		`{"method":"banpubkey","method":"x","params":[]}`: "invalid: the body must be", `{"method":1}`: "invalid: the body must be",
		`{"method":"supportedmethods","params":{}}`: "invalid: the body must be", `{"method":"supportedmethods"} x`: "invalid: the body must be",
		"{\"method\":\"supportedmethods\",\"x\":\"\xff\"}": "invalid: the body must be", `{"METHOD":"supportedmethods"}`: "invalid: there is no method",
		`{"method":"nosuchmethod"}`: "invalid: this relay has no such method", `{"method":"stats"}`: "invalid: this relay has no such method",
		`{"method":"` + strings.Repeat("x", 70<<10) + `"}`: "invalid: the call is too large",
	} {
		if got := w.raw(body); !strings.HasPrefix(got, want) {
			t.Errorf("%.80s: %s, want %s…", body, got, want)
		}
	}
	secret := strings.Repeat("q", 58)
	for _, c := range []struct {
		want, method string
		params       []any
	}{
		{"this method takes 1 to 2 parameters", "banpubkey", nil},
		{"this method takes 1 parameter(s)", "allowkind", nil},
		{"this method takes no parameters", "listbannedevents", []any{1}},
		{"parameter 1: want a pubkey", "banpubkey", []any{strings.ToUpper(alice)}},
		{"parameter 1: want a pubkey", "banpubkey", []any{alice[1:]}},
		{"parameter 1: want a text in quotes", "banpubkey", []any{7}},
		{"parameter 1: want a text in quotes", "banpubkey", []any{nil}},
		{"parameter 1: this is a secret key (nsec)", "banpubkey", []any{"nsec1" + secret}},
		{"parameter 2: want a text in quotes", "banpubkey", []any{alice, 7}},
		{"parameter 2: at most 1000 bytes", "banpubkey", []any{alice, strings.Repeat("x", 1001)}},
		{"parameter 2: control characters", "banpubkey", []any{alice, "\x1b[2J"}},
		{"parameter 2: control characters", "banpubkey", []any{alice, "a\u202eb"}},
		{"parameter 1: control characters", "changerelayname", []any{"two\nlines"}},
		{"parameter 1: at most 200 bytes", "changerelayname", []any{strings.Repeat("x", 201)}},
		{"parameter 1: an icon is an http or https URL", "changerelayicon", []any{"javascript:alert(1)"}},
		{"parameter 1: want a kind", "allowkind", []any{65536}},
		{"parameter 1: want a kind", "allowkind", []any{-1}},
		{"parameter 1: want a kind", "allowkind", []any{1.5}},
		{"parameter 1: want a kind", "allowkind", []any{"1"}},
		{"parameter 1: want an event id", "banevent", []any{"x"}},
		{"parameter 1: want an IP address", "blockip", []any{"example.com"}},
		{"parameter 1: want an IP address", "blockip", []any{"fe80::1%eth0"}},
		{"parameter 1: want an IP address", "blockip", []any{"::ffff:192.0.2.0/120"}},
		{"parameter 1: want an IP address", "blockip", []any{"192.0.2.0/33"}},
		{"parameter 1: want one object with", "createsnapshot", []any{alice}},
		{"parameter 1: want one object with", "createsnapshot", []any{map[string]any{"agent": alice, "recipients": "age1"}}},
		{"parameter 1: want one object with", "createsnapshot", []any{map[string]any{"agent": alice, "encrypt": "age1"}}},
		{"parameter 1: only these members", "createsnapshot", []any{map[string]any{"agent": alice, "id": "x"}}},
		{"parameter 1: agent must be", "createsnapshot", []any{map[string]any{}}},
		{"parameter 1: agent must be", "listsnapshots", []any{map[string]any{"agent": "../.."}}},
		{"parameter 1: tenant must be", "listsnapshots", []any{map[string]any{"tenant": "../x"}}},
		{"parameter 1: tenant must be", "listsnapshots", []any{map[string]any{"tenant": "Default"}}},
		{"parameter 1: tenant must be", "listsnapshots", []any{map[string]any{"tenant": "-x"}}},
		{"parameter 1: id must be", "verifysnapshot", []any{map[string]any{"agent": alice}}},
		{"parameter 1: id must be", "restoresnapshot", []any{map[string]any{"agent": alice, "id": "../../20261120T235100Z-0123456789abcdef"}}},
		{"parameter 1: mode must be", "restoresnapshot", []any{map[string]any{"agent": alice, "id": snapshotID, "mode": "revert"}}},
		{"parameter 1: control characters", "createsnapshot", []any{map[string]any{"agent": alice, "label": "a\nb"}}},
	} {
		w.want("invalid: "+c.want+"…", c.method, c.params...)
	}
	if w.sets != 1 {
		t.Error("a wrong call changed something")
	}
	for _, line := range w.audit() {
		if line.Outcome != "invalid" || line.Params != nil || line.Detail == "" || strings.Contains(line.Detail, secret) {
			t.Errorf("audit %+v", line)
		}
	}
}

// TestSecretsAreNotKept: a key in the wrong place is refused, and is in neither
// the answer nor the table.
func TestSecretsAreNotKept(t *testing.T) {
	w := newWorld(t, management.Config{}, management.Options{})
	const nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5" // NIP-19's example
	for _, method := range []string{"changerelayname", "changerelaydescription"} {
		w.want("invalid: parameter 1: this text seems to hold a secret…", method, "my key: "+nsec)
	}
	w.want("invalid: parameter 2: this text seems to hold a secret…", "banpubkey", alice, nsec)
	w.want("invalid: this relay has no such method…", nsec)
	for _, line := range w.audit() {
		text, err := json.Marshal(line)
		if err != nil || strings.Contains(string(text), nsec[:20]) {
			t.Errorf("audit %s, %v", text, err)
		}
	}
}

// TestEveryCallIsAudited: reads, changes, refused and wrong ones, with what was
// understood.
func TestEveryCallIsAudited(t *testing.T) {
	w := newWorld(t, management.Config{BanAuthors: []string{banned}}, management.Options{})
	w.want(`true`, "banpubkey", alice, "<spam>")
	w.want(`[]`, "listbannedevents")
	w.want(`restricted: …`, "unbanpubkey", banned)
	w.want(`invalid: …`, "banpubkey", "x")
	w.want(`invalid: …`, "NoSuchMethod")
	lines := w.audit()
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	params := func(i int) (out []string) {
		if lines[i].Params == nil {
			return nil
		}
		if err := json.Unmarshal([]byte(*lines[i].Params), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for i, want := range []struct {
		method, outcome string
		params          []string
	}{
		{"banpubkey", "ok", []string{alice, "<spam>"}}, {"listbannedevents", "ok", []string{}}, {"unbanpubkey", "restricted", []string{banned}},
		{"banpubkey", "invalid", nil}, {"", "invalid", nil},
	} {
		l := lines[i]
		if l.Method != want.method || l.Outcome != want.outcome || !slices.Equal(params(i), want.params) || (params(i) == nil) != (want.params == nil) {
			t.Errorf("line %d: %+v, %v", i, l, params(i))
		}
		if l.Key != manager || l.Address != home.String() || l.Auth == "" || (l.Detail == "") != (l.Outcome == "ok") {
			t.Errorf("line %d: %+v", i, l)
		}
	}
	if lines[4].Digest != sha256.Sum256([]byte(`{"method":"NoSuchMethod","params":[]}`)) {
		t.Error("the digest is not that of the body")
	}
}

// full is a store that takes nothing.
type full struct{ management.Store }

func (full) Administer(context.Context, *store.AdminEntry, store.AdminCall) error {
	return store.ErrFull
}

// TestWhatCannotBeAuditedIsNotDone: not a change, not a read, not a snapshot.
func TestWhatCannotBeAuditedIsNotDone(t *testing.T) {
	snapshots := &fakeSnapshots{}
	w := newWorld(t, management.Config{}, management.Options{})
	w.open(management.Config{}, management.Options{Store: full{w.store}, Snapshots: snapshots})
	sets := w.sets
	for _, c := range []struct {
		method string
		params []any
	}{{"banpubkey", []any{alice}}, {"listbannedpubkeys", nil}, {"listsnapshots", nil}, {"banpubkey", []any{"x"}}} {
		w.want("error: the relay could not carry out the call; nothing was changed", c.method, c.params...)
	}
	if w.sets != sets || len(snapshots.asked) != 0 {
		t.Error("something was done")
	}
}

const snapshotID = "20261120T235100Z-0123456789abcdef"

// fakeSnapshots remembers what it was asked.
type fakeSnapshots struct {
	asked []string
	got   []management.SnapshotParams
	err   error
}

func (f *fakeSnapshots) ask(what string, p management.SnapshotParams) (any, error) {
	f.asked, f.got = append(f.asked, what), append(f.got, p)
	return map[string]string{"did": what}, f.err
}

func (f *fakeSnapshots) List(_ context.Context, p management.SnapshotParams) (any, error) {
	return f.ask("list", p)
}
func (f *fakeSnapshots) Create(_ context.Context, p management.SnapshotParams) (any, error) {
	return f.ask("create", p)
}
func (f *fakeSnapshots) Verify(_ context.Context, p management.SnapshotParams) (any, error) {
	return f.ask("verify", p)
}
func (f *fakeSnapshots) Restore(_ context.Context, p management.SnapshotParams) (any, error) {
	return f.ask("restore", p)
}
func (f *fakeSnapshots) Pin(_ context.Context, p management.SnapshotParams) (any, error) {
	return f.ask("pin", p)
}
func (f *fakeSnapshots) Unpin(_ context.Context, p management.SnapshotParams) (any, error) {
	return f.ask("unpin", p)
}
func (f *fakeSnapshots) Delete(_ context.Context, p management.SnapshotParams) (any, error) {
	return f.ask("delete", p)
}

func TestSnapshotCalls(t *testing.T) {
	f := &fakeSnapshots{}
	w := newWorld(t, management.Config{}, management.Options{Snapshots: f})
	at := map[string]any{"agent": alice, "id": snapshotID}
	w.want(`{"did":"list"}`, "listsnapshots")
	w.want(`{"did":"create"}`, "createsnapshot", map[string]any{"agent": alice, "tenant": "acme", "label": "before", "encrypt": true, "pin": true})
	w.want(`{"did":"verify"}`, "verifysnapshot", at)
	w.want(`{"did":"restore"}`, "restoresnapshot", at)
	w.want(`{"did":"restore"}`, "restoresnapshot", map[string]any{"agent": alice, "id": snapshotID, "dry_run": true, "mode": "rollback"})
	w.want(`{"did":"pin"}`, "pinsnapshot", at)
	w.want(`{"did":"unpin"}`, "unpinsnapshot", at)
	w.want(`{"did":"delete"}`, "deletesnapshot", at)
	want := []management.SnapshotParams{
		{Tenant: "default"}, {Agent: alice, Tenant: "acme", Label: "before", Encrypt: true, Pin: true}, {Agent: alice, Tenant: "default", ID: snapshotID},
		{Agent: alice, Tenant: "default", ID: snapshotID, Mode: "repair"}, {Agent: alice, Tenant: "default", ID: snapshotID, DryRun: true, Mode: "rollback"},
		{Agent: alice, Tenant: "default", ID: snapshotID}, {Agent: alice, Tenant: "default", ID: snapshotID}, {Agent: alice, Tenant: "default", ID: snapshotID},
	}
	if !slices.Equal(f.got, want) {
		t.Errorf("asked %+v", f.got)
	}
	f.err = errors.New("no space on /secret/path")
	w.want(`error: the relay could not carry out the call; its log says why`, "deletesnapshot", at)
	f.err = management.Restricted("this is the last verified one")
	w.want(`restricted: this is the last verified one`, "deletesnapshot", at)
	var outcomes []string
	for _, line := range w.audit() {
		outcomes = append(outcomes, line.Outcome)
	}
	if !slices.Equal(outcomes, slices.Concat(slices.Repeat([]string{"begun", "ok"}, 8), []string{"begun", "error", "begun", "restricted"})) {
		t.Errorf("audit %v", outcomes)
	}
}
