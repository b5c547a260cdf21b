package main

import (
	"crypto/rand"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/transplant"
	"engramd/nips/nipae"
)

// TestFalseTransplants: of a listed giver's proposals, events that nobody
// signed so, or whose keys open nothing, are neither shown nor taken, and valid
// ones beside them are.
func TestFalseTransplants(t *testing.T) {
	p := newCorrecting(t)
	giver := relaytest.Stranger()
	p.does("", "mem", "set", "core", "I am Sami.")
	config := filepath.Join(p.dir, "giver.toml")
	p.write("giver.toml", "[profiles.p]\nkey_file = \""+filepath.Join(p.dir, "agent.key")+"\"\nowner = \""+relaytest.Owner().Pub+"\"\nrelays = [\""+p.relay.URL+"\"]\n[profiles.p.proposals.from]\n"+giver.Pub+" = \"giver\"\n")
	id, err := client.NewIdentity(giver.Secret)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(id, client.Options{Relays: []string{p.relay.URL}, Timeout: relaytest.Patience})
	defer c.Close()
	key, err := nipae.DeriveConversationKey(giver.Secret, relaytest.Owner().Pub)
	if err != nil {
		t.Fatal(err)
	}
	made := func(slug nipae.Slug) transplant.Origin {
		t.Helper()
		body, err := nipae.NewMemory(slug, "words of "+string(slug))
		if err != nil {
			t.Fatal(err)
		}
		ev, err := nipae.Seal(key, body, nipae.Sealing{Secret: giver.Secret, Owner: relaytest.Owner().Pub, CreatedAt: 1_700_000_000, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		o, _, err := transplant.Of(key, ev)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	right, dated, forged, shut := made("mem/right"), made("mem/dated"), made("mem/forged"), made("mem/shut")
	dated.Event.CreatedAt++
	forged.Event.Sig = right.Event.Sig
	shut.Keys = right.Keys
	ids := map[string]string{}
	for name, o := range map[string]transplant.Origin{"right": right, "dated": dated, "forged": forged, "shut": shut} {
		made, _, err := (&proposals.Author{Client: c}).Propose(t.Context(), proposals.Proposal{Agent: relaytest.Agent().Pub, Act: proposals.Write,
			Slug: nipae.Slug(proposals.FromPrefix + proposals.NameOf(giver.Pub) + "/" + name), Base: memory.BaseNone, Origin: o.JSON()})
		if err != nil {
			t.Fatal(name, err)
		}
		ids[name] = made.EventID
	}
	with := func(args ...string) (int, string, string) {
		got := p.run(strings.NewReader(""), append(args, "--config", config, "--profile", "p")...)
		return got.code, got.stdout, got.stderr
	}
	for _, name := range []string{"dated", "forged", "shut"} {
		if code, out, _ := with("proposals", "show", ids[name]); code != 0 || !strings.Contains(out, "text:     not a memory that an agent has signed") || strings.Contains(out, "words of") {
			t.Errorf("%s is shown with exit code %d: %s", name, code, out)
		}
		if code, out, text := with("proposals", "accept", ids[name]); code == 0 || strings.Contains(out+text, "words of") {
			t.Errorf("%s is accepted with exit code %d: %s%s", name, code, out, text)
		}
	}
	code, out, text := with("transplant", "take", "--json")
	var took struct {
		Memories []struct{ ID, Status string } `json:"memories"`
	}
	if err := json.Unmarshal([]byte(out), &took); err != nil || code != exit.Unreadable {
		t.Fatalf("exit code %d: %s%s", code, out, text)
	}
	status := map[string]string{}
	for _, m := range took.Memories {
		status[m.ID] = m.Status
	}
	for name, id := range ids {
		if want := map[bool]string{true: "taken", false: "left"}[name == "right"]; status[id] != want {
			t.Errorf("%s is %s", name, status[id])
		}
	}
	if _, out, _ := with("mem", "ls"); strings.Count(out, "mem/from/giver/") != 1 || !strings.Contains(out, "mem/from/giver/right") {
		t.Errorf("what is remembered: %s", out)
	}
}
