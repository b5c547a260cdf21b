package snapshots

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// TestDaemonAndClientCaptureTheSame compares the artifacts of one memory, read
// from the database and over the wire, and reads with engramctl what a repair
// restored.
func TestDaemonAndClientCaptureTheSame(t *testing.T) {
	relay := rig.Start(t)
	x := newCtl(t, relay)
	for _, slug := range []nipae.Slug{"mem/a", "mem/b", "mem/c", nipae.Core} {
		x.set(slug, "first")
		x.set(slug, "second")
	}
	x.set("mem/b", "")
	agent, now := relaytest.Agent(), time.Now().Unix()
	c, err := relaytest.Dial(relay.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Auth(agent); err != nil {
		t.Fatal(err)
	}
	gone := relaytest.Memory(agent, relaytest.Owner().Pub, "mem/gone", "x", now)
	for _, ev := range []any{
		relaytest.Sign(agent, 10002, now, "", rig.Tag("r", relay.URL)), gone,
		relaytest.Deletion(agent, now, rig.Tag("e", gone.ID), rig.Tag("k", "30174")),
		relaytest.Entry(agent, relaytest.Owner().Pub, strings.Repeat("ab", 32), "note", "one", now-1),
		relaytest.Entry(agent, relaytest.Owner().Pub, strings.Repeat("ab", 32), "note", "two", now),
	} {
		if err := c.Send("EVENT", ev); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Barrier(); err != nil {
		t.Fatal(err)
	}
	x.create()
	rig.Engramd(t, relay, "snapshot", "--agent", agent.Pub)
	client, daemon := onlyManifest(t, x.Root()), onlyManifest(t, relay.Data)
	if client.HeadsRoot != daemon.HeadsRoot || client.BundleSHA256 != daemon.BundleSHA256 {
		t.Errorf("client %+v\ndaemon %+v", client.Artifacts, daemon.Artifacts)
	}
	if daemon.Consistency != bundle.Transaction || client.Consistency != bundle.StableListing || daemon.Schema < 5 || daemon.Events() < 10 {
		t.Errorf("daemon %+v", daemon)
	}

	want := x.texts()
	other := rig.Start(t)
	files, _ := filepath.Glob(filepath.Join(relay.Data, "tenants", "default", "snapshots", "*", "*"+bundle.Extension))
	rig.Engramd(t, other, "snapshot", "restore", "--agent", agent.Pub, "--from", files[0], "--allow-unsigned")
	if got := newCtl(t, other).texts(); !equalTexts(got, want) {
		t.Errorf("engramctl reads %v of the repaired relay, want %v", got, want)
	}
}

// onlyManifest returns the manifest of the only bundle below a root, which must
// verify.
func onlyManifest(t *testing.T, root string) *bundle.Manifest {
	t.Helper()
	list, err := snapshot.New(root).List(bundle.DefaultTenant, relaytest.Agent().Pub)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d snapshots, %v", len(list), err)
	}
	report, err := bundle.Verify(t.Context(), list[0].Path, bundle.VerifyOptions{})
	if err != nil || !report.OK() {
		t.Fatalf("%v, %v", report.Err(), err)
	}
	return report.Manifest
}

// taken has a relay make a snapshot, and is its manifest. Which of two of one second
// is the newest, their ids do not say.
func taken(t *testing.T, relay *relaytest.Child) *bundle.Manifest {
	t.Helper()
	id := made(t, rig.Engramd(t, relay, "snapshot", "--agent", relaytest.Agent().Pub, "--json")).ID
	list, err := snapshot.New(relay.Data).List(bundle.DefaultTenant, relaytest.Agent().Pub)
	at := slices.IndexFunc(list, func(i snapshot.Info) bool { return i.ID == id })
	if err != nil || at < 0 {
		t.Fatalf("%s is not one of %d snapshots, %v", id, len(list), err)
	}
	report, err := bundle.Verify(t.Context(), list[at].Path, bundle.VerifyOptions{})
	if err != nil || !report.OK() {
		t.Fatalf("%v, %v", report.Err(), err)
	}
	return report.Manifest
}

// TestManagedSnapshots makes, lists, verifies, restores and deletes a snapshot over
// the management API.
func TestManagedSnapshots(t *testing.T) {
	relay := rig.StartManaged(t, relaytest.Options{})
	agent := relaytest.Agent()
	put := relay.Run(wire.AppendEvent(nil, relaytest.Memory(agent, relaytest.Owner().Pub, "mem/a", "x", 1_700_000_000)), "import", "--data", relay.Data)
	if put.Code != 0 {
		t.Fatal(put.Stderr)
	}
	var made struct{ Result struct{ ID string } }
	answer := relay.Call("createsnapshot", map[string]any{"agent": agent.Pub, "label": "by a manager"})
	if err := json.Unmarshal([]byte(answer), &made); err != nil || answer != `{"result":{"id":"`+made.Result.ID+`"}}` {
		t.Fatalf("%s, %v", answer, err)
	}
	one := map[string]any{"agent": agent.Pub, "id": made.Result.ID}
	for _, step := range []struct {
		method string
		param  map[string]any
		want   string
	}{
		{"listsnapshots", map[string]any{}, made.Result.ID},
		{"listsnapshots", map[string]any{}, `"label":"by a manager"`},
		{"verifysnapshot", one, `{"result":{"ok":true}}`},
		{"createsnapshot", map[string]any{"agent": agent.Pub, "encrypt": true}, "no snapshot.recipients"},
		{"restoresnapshot", map[string]any{"agent": agent.Pub, "id": made.Result.ID, "dry_run": true}, `{"result":{"dry_run":true,"ok":true}}`},
		{"restoresnapshot", map[string]any{"agent": agent.Pub, "id": made.Result.ID, "mode": "rollback"}, "ENGRAMD_RESTORE_ALLOW"},
		{"restoresnapshot", map[string]any{"agent": agent.Pub, "id": made.Result.ID, "mode": "rollback", "dry_run": true}, "ENGRAMD_RESTORE_ALLOW"},
		{"restoresnapshot", one, `{"result":{"pre_snapshot":"`},
		{"listsnapshots", map[string]any{"agent": agent.Pub}, `"automatic":true`},
		{"verifysnapshot", map[string]any{"agent": agent.Pub, "id": "20200101T000000Z-0123456789abcdef"}, "no such snapshot"},
		{"pinsnapshot", one, `"result":true`},
		{"listsnapshots", map[string]any{"agent": agent.Pub}, `"pinned":true`},
		{"unpinsnapshot", one, `"result":true`},
		{"createsnapshot", map[string]any{"agent": agent.Pub, "pin": true}, `{"result":{"id":"`},
		{"listsnapshots", map[string]any{"agent": agent.Pub}, `"pinned":true`},
		{"pinsnapshot", map[string]any{"agent": agent.Pub, "id": "20200101T000000Z-0123456789abcdef"}, "no such snapshot"},
		{"verifysnapshot", map[string]any{"agent": agent.Pub, "id": made.Result.ID, "pin": true}, "only these members"},
		{"deletesnapshot", one, `"result":true`},
		{"deletesnapshot", one, "no such snapshot"},
	} {
		got := relay.Call(step.method, step.param)
		if !strings.Contains(got, step.want) {
			t.Errorf("%s %v: %s, want %s", step.method, step.param, got, step.want)
		}
		if strings.Contains(got, relay.Data) || strings.Contains(got, os.TempDir()) {
			t.Errorf("%s tells where files lie: %s", step.method, got)
		}
	}
}
