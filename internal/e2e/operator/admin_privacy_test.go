package operator

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
)

// TestAdmin_SeesNothingOfMemory: whatever a managing key asks about an agent
// with a long memory, of which the operator keeps snapshots, the answer is the
// same as for a key that never wrote anything; and the managing key reads
// nothing as a client either.
func TestAdmin_SeesNothingOfMemory(t *testing.T) {
	t.Parallel() // it mostly waits: every answer takes half a second
	relay := rig.StartManaged(t, relaytest.Options{Env: []string{"ENGRAMD_RESTORE_ALLOW=true"}})
	agent, owner, empty := relaytest.Agent(), relaytest.Owner(), relaytest.NewKey(404)
	var memory []byte
	for i := range 30 {
		ev := relaytest.Memory(agent, owner.Pub, "mem/"+strings.Repeat("x", i+1), strings.Repeat("text ", 500), 1_700_000_000+int64(i))
		memory = append(wire.AppendEvent(memory, ev), '\n')
	}
	if put := relay.Run(memory, "import", "--data", relay.Data); put.Code != 0 {
		t.Fatal(put.Stderr)
	}
	rig.Engramd(t, relay.Child, "snapshot", "--agent", agent.Pub)
	rig.Engramd(t, relay.Child, "snapshot", "--agent", agent.Pub, "--label", "the operator's")

	// The answers for both agents, with random parts and the agents' own keys
	// removed.
	random := regexp.MustCompile(`[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z`)
	session := func(k relaytest.Key) string {
		var said strings.Builder
		ask := func(method string, param map[string]any) string {
			param["agent"] = k.Pub
			began := time.Now()
			answer := relay.Call(method, param)
			if took := time.Since(began); took < 500*time.Millisecond {
				t.Errorf("%s answers after %v: how long it took tells how much there is", method, took)
			}
			parts := strings.SplitAfter(strings.ReplaceAll(random.ReplaceAllString(answer, "…"), k.Pub, "AGENT"), "},")
			slices.Sort(parts) // those made in the same second come in any order
			said.WriteString(method + ": " + strings.Join(parts, "") + "\n")
			return answer
		}
		create := func() string {
			var made struct{ Result struct{ ID string } }
			if err := json.Unmarshal([]byte(ask("createsnapshot", map[string]any{"label": "mine"})), &made); err != nil || made.Result.ID == "" {
				t.Fatalf("createsnapshot: %v", err)
			}
			return made.Result.ID
		}
		ask("listsnapshots", map[string]any{})
		first := create()
		ask("deletesnapshot", map[string]any{"id": first}) // the last one, as far as the manager knows
		second := create()
		ask("listsnapshots", map[string]any{})
		for _, mode := range []string{"repair", "rollback"} {
			ask("restoresnapshot", map[string]any{"id": first, "mode": mode, "dry_run": true})
			ask("restoresnapshot", map[string]any{"id": first, "mode": mode})
		}
		ask("verifysnapshot", map[string]any{"id": second})
		ask("pinsnapshot", map[string]any{"id": second})
		ask("unpinsnapshot", map[string]any{"id": second})
		ask("listsnapshots", map[string]any{})
		ask("deletesnapshot", map[string]any{"id": first})
		ask("verifysnapshot", map[string]any{"id": first})
		return said.String()
	}
	// Of all agents, before any is named.
	relay.Want(`{"result":{"snapshots":[],"encryption_available":false}}`, "listsnapshots")
	full, none := session(agent), session(empty)
	if full != none {
		t.Errorf("of an agent with memory:\n%s\nof one without:\n%s", full, none)
	}
	for _, word := range []string{"size", "events", "heads", "kind", "sha256", "parent", "path"} {
		if strings.Contains(full, `"`+word) {
			t.Errorf("an answer tells of %s:\n%s", word, full)
		}
	}

	// A snapshot's name over the API tells nothing of its content: it is not the
	// id of its file.
	list := rig.Engramd(t, relay.Child, "snapshot", "list", "--agent", agent.Pub, "--json")
	var listed struct {
		Result struct{ Snapshots []struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(relay.Call("listsnapshots", map[string]any{"agent": agent.Pub})), &listed); err != nil || len(listed.Result.Snapshots) < 2 {
		t.Fatalf("%+v, %v", listed, err)
	}
	for _, s := range listed.Result.Snapshots {
		if strings.Contains(list, `"id":"`+s.ID) || strings.Contains(list, `"id": "`+s.ID) {
			t.Error("a snapshot is known by its id")
		}
		if !strings.Contains(list, s.ID) {
			t.Error("the operator cannot tell which one is meant")
		}
	}
	for _, path := range []string{relay.Data, os.TempDir()} {
		if strings.Contains(full, path) {
			t.Error("an answer tells where files lie")
		}
	}

	// To the websocket the key is a client like any other.
	c := rig.Dial(t, relay.Child, rig.ManagerKey())
	c.Closed("restricted: ", relaytest.Filter{"kinds": []int{30174}, "authors": []string{agent.Pub}})
	c.Closed("restricted: ", relaytest.Filter{"authors": []string{agent.Pub}})
	if n := c.MustCount(relaytest.Filter{"kinds": []int{5, 30078}, "authors": []string{agent.Pub}}); n != 0 {
		t.Errorf("it counts %d", n)
	}
	key := rig.ManagerKey()
	got, err := relay.Calls.Signed(&key, "GET", "/history?kind=30174&author="+agent.Pub, nil)
	if err != nil || strings.TrimSpace(string(got.Body)) != "[]" {
		t.Errorf("/history: %d %s, %v", got.Status, got.Body, err)
	}
	// The key makes no further managing keys, by any method.
	for _, method := range []string{"assignmethod", "createrole", "assignrole", "listmethodassignees"} {
		if answer := relay.Call(method, rig.ManagerKey().Pub, "banpubkey"); !strings.HasPrefix(answer, `{"error":"invalid: `) {
			t.Errorf("%s: %s", method, answer)
		}
	}
	// The answer to a ban of an event does not tell whether the event exists.
	there := relaytest.Note(agent, rig.Now(), "a note")
	rig.Dial(t, relay.Child).Store(there)
	relay.Want(done, "banevent", there.ID)
	relay.Want(done, "banevent", strings.Repeat("a", 64))
}

// TestAdmin_SeesThreadsOnlyInDispute: where contract memory is for the parties
// only, a managing key that is no party learns nothing of a thread by any call
// until the contract is disputed.
func TestAdmin_SeesThreadsOnlyInDispute(t *testing.T) {
	relay := rig.StartManaged(t, relaytest.Options{Env: []string{"ENGRAMD_GATE_CONTRACTS=parties"}})
	poster, worker, at := relaytest.NewKey(851), relaytest.NewKey(852), rig.Now()-100
	const id, nothing = "25becee1-0000-4000-8000-0000000000aa", "25becee1-0000-4000-8000-0000000000ab"
	party := rig.Dial(t, relay.Child, poster)
	party.Store(
		relaytest.State(poster, worker.Pub, id, "open", "", at), relaytest.State(worker, poster.Pub, id, "accepted", "open", at+1),
		relaytest.Entry(poster, worker.Pub, id, "message", "what the parties say", at+2),
	)
	c, manager := &rig.ContractCalls{Caller: rig.NewCaller(t, relay.Child), T: t}, &rig.ContractAgent{Key: rig.ManagerKey()}
	ask := func(id string) (said []string) {
		path := rig.ContractsPath + "/" + id
		for _, call := range []struct {
			method, path string
			body         any
		}{
			{"GET", path + "/memory", nil}, {"GET", path + "/memory?events=true", nil}, {"GET", path + "/memory/summary", nil},
			{"POST", path + "/memory/search", map[string]string{"query": "parties"}},
		} {
			status, text := c.Call(manager, call.method, call.path, call.body)
			said = append(said, fmt.Sprint(call.method, " ", strings.ReplaceAll(call.path, id, "ID"), ": ", status, " ", strings.ReplaceAll(string(text), id, "ID")))
		}
		return said
	}
	there, none := ask(id), ask(nothing)
	if !slices.Equal(there, none) {
		t.Errorf("of a contract:\n%s\nof none:\n%s", strings.Join(there, "\n"), strings.Join(none, "\n"))
	}
	for _, answer := range there {
		if !strings.Contains(answer, ": 404 ") {
			t.Errorf("a managing key is answered: %s", answer)
		}
	}
	party.Store(relaytest.State(poster, worker.Pub, id, "disputed", "accepted", at+3))
	for _, answer := range ask(id) {
		if !strings.Contains(answer, ": 200 ") {
			t.Errorf("while there is a dispute: %s", answer)
		}
	}
}
