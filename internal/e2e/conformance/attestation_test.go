package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// attested is a relay whose write.owners are the owner and a second one.
func attested(t *testing.T) (relay *relaytest.Child, agent, owner, second relaytest.Key) {
	owner, second = relaytest.Owner(), relaytest.NewKey(702)
	return rig.Start(t, "ENGRAMD_WRITE_OWNERS="+owner.Pub+","+second.Pub), relaytest.Agent(), owner, second
}

const (
	unvouched    = "restricted: no listed owner has vouched for this key: send his NIP-OA attestation"
	doesNotCount = "restricted: no listed owner has vouched for this key: the attestation in AUTH or x-auth-tag does not count: "
)

// `buzz mem` sends its owner's attestation in x-auth-tag only: its engrams have
// no auth tag.
func TestAttestation_Header(t *testing.T) {
	relay, agent, owner, second := attested(t)
	calls := rig.NewCaller(t, relay)
	n := 0
	// deliver posts a new engram of the agent for an owner, with a request signed
	// by by's key.
	deliver := func(by, owner relaytest.Key, header ...string) (status int, body string) {
		t.Helper()
		n++
		ev := relaytest.Memory(agent, owner.Pub, fmt.Sprint("mem/", n), "cedar", rig.Now())
		object, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := calls.MustSend(http.MethodPost, "/events", object, http.Header{
			"Authorization": {relaytest.HTTPAuth(by, http.MethodPost, relay.HTTP("/events"), object, rig.Now())}, "X-Auth-Tag": header,
		})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Status, string(resp.Body)
	}
	text := func(tag nostr.Tag) string { b, _ := json.Marshal(tag); return string(b) }
	good := text(relaytest.Attestation(owner, agent.Pub, ""))
	for _, one := range []struct {
		name   string
		by     relaytest.Key
		header []string
		status int
		text   string
	}{
		{"no header", agent, nil, 403, unvouched},
		{"his owner's", agent, []string{good}, 200, ""},
		{"with spaces and escapes", agent, []string{strings.Replace(good, `["auth",`, ` [ "\u0061uth" , `, 1)}, 200, ""},
		{"delivered by another", relaytest.Stranger(), []string{good}, 200, ""},
		{"once allows nothing later", agent, nil, 403, unvouched},
		{"on conditions that hold", agent, []string{text(relaytest.Attestation(owner, agent.Pub, fmt.Sprintf("kind=30174&created_at<%d", rig.Now()+3600)))}, 200, ""},
		{"for another kind", agent, []string{text(relaytest.Attestation(owner, agent.Pub, "kind=1"))}, 403, doesNotCount + "a condition does not hold"},
		{"run out", agent, []string{text(relaytest.Attestation(owner, agent.Pub, fmt.Sprintf("created_at<%d", rig.Now()-60)))}, 403, doesNotCount + "a condition does not hold"},
		{"of the sender, not of the author", relaytest.Stranger(), []string{text(relaytest.Attestation(owner, relaytest.Stranger().Pub, ""))}, 403, doesNotCount + "the signature"},
		{"by another listed owner", agent, []string{text(relaytest.Attestation(second, agent.Pub, ""))}, 403, doesNotCount + "it is by another key"},
		{"by nobody listed", agent, []string{text(relaytest.Attestation(relaytest.Stranger(), agent.Pub, ""))}, 403, doesNotCount + "it is by another key"},
		{"by the agent", agent, []string{text(relaytest.Attestation(agent, agent.Pub, ""))}, 403, doesNotCount + "a key does not attest itself"},
		{"twice", agent, []string{good, good}, 403, doesNotCount + "one auth tag of four elements"},
		{"empty", agent, []string{""}, 403, doesNotCount + "one auth tag of four elements"},
		{"no JSON", agent, []string{"auth " + owner.Pub}, 403, doesNotCount + "one auth tag of four elements"},
		{"with null", agent, []string{strings.Replace(good, `""`, `null`, 1)}, 403, doesNotCount + "one auth tag of four elements"},
		{"with more behind", agent, []string{good + good}, 403, doesNotCount + "one auth tag of four elements"},
		{"large", agent, []string{"[" + strings.Repeat(" ", 8<<10) + good[1:]}, 403, doesNotCount + "one auth tag of four elements"},
		{"long conditions", agent, []string{text(relaytest.Attestation(owner, agent.Pub, strings.Repeat("kind=30174&", 30)+"kind=30174"))}, 403, doesNotCount + "its conditions"},
		{"huge", agent, []string{"[" + strings.Repeat(" ", 64<<10) + good[1:]}, 431, ""},
	} {
		status, body := deliver(one.by, owner, one.header...)
		if status != one.status || one.text != "" && !strings.Contains(body, `{"error":"`+one.text) {
			t.Errorf("%s: %d %s, want %d %s", one.name, status, body, one.status, one.text)
		}
		if strings.Contains(body, owner.Pub) || strings.Contains(body, agent.Pub) {
			t.Errorf("%s: the answer names a key: %s", one.name, body)
		}
	}
	// The engram is stored without the attestation, and no log mentions it.
	reader := rig.Dial(t, relay, agent)
	a := reader.MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}})
	if len(a.Events) != 4 {
		t.Errorf("%d engrams are stored, want 4", len(a.Events))
	}
	for _, ev := range a.Events {
		if len(ev.Tags) != 2 {
			t.Errorf("stored with tags %v", ev.Tags)
		}
	}
	if log := relay.Log.Text(); strings.Contains(log, owner.Pub) || strings.Contains(strings.ToLower(log), "auth-tag") {
		t.Errorf("the log tells of attestations:\n%s", log)
	}
}

// On the websocket the attestation is in the AUTH event, and holds for events
// of the proved key on that connection.
func TestAttestation_Auth(t *testing.T) {
	relay, agent, owner, second := attested(t)
	other := relaytest.NewKey(703)
	auth := func(c *rig.Peer, k relaytest.Key, tags ...nostr.Tag) {
		t.Helper()
		ok, err := c.AuthWith(relaytest.Sign(k, relaytest.KindAuth, rig.Now(), "",
			append([]nostr.Tag{{"relay", relay.URL}, {"challenge", c.Challenge}}, tags...)...))
		if err != nil || !ok.True {
			t.Fatalf("AUTH: %v %q", err, ok.Message)
		}
	}
	n := 0
	memory := func(by, owner relaytest.Key) *nostr.Event {
		n++
		return relaytest.Memory(by, owner.Pub, fmt.Sprint("mem/", n), "cedar", rig.Now())
	}
	c, elsewhere := rig.Dial(t, relay), rig.Dial(t, relay, agent)
	c.Refused(memory(agent, owner), unvouched)
	auth(c, agent, relaytest.Attestation(owner, agent.Pub, ""))
	c.Store(memory(agent, owner), relaytest.Note(agent, rig.Now(), "any kind"), relaytest.Deletion(agent, rig.Now(), rig.Tag("k", "30174")))
	elsewhere.Refused(memory(agent, owner), unvouched)
	c.Refused(memory(agent, second), doesNotCount+"it is by another key")
	c.Refused(memory(other, owner), unvouched)
	c.Refused(memory(agent, relaytest.Stranger()), "restricted: engrams are accepted here for listed owners")

	// AUTHs accumulate: another owner's attestation for the same key, and another
	// key.
	auth(c, agent, relaytest.Attestation(second, agent.Pub, "kind=30174"))
	auth(c, other, relaytest.Attestation(owner, other.Pub, fmt.Sprintf("created_at<%d", rig.Now()-60)))
	c.Store(memory(agent, second), memory(agent, owner))
	c.Refused(memory(other, owner), doesNotCount+"a condition does not hold")
	auth(c, other) // without an attestation, the earlier ones stay
	c.Store(memory(agent, owner))
	auth(c, other, relaytest.Attestation(owner, other.Pub, "")) // a new attestation counts
	c.Store(memory(other, owner))

	// A key may not bring another key's attestation, nor two at once.
	d := rig.Dial(t, relay)
	auth(d, relaytest.Stranger(), relaytest.Attestation(owner, agent.Pub, ""))
	d.Refused(memory(agent, owner), unvouched)
	d.Refused(memory(relaytest.Stranger(), owner), doesNotCount+"the signature")
	auth(d, agent, relaytest.Attestation(owner, agent.Pub, ""), relaytest.Attestation(second, agent.Pub, ""))
	d.Refused(memory(agent, owner), doesNotCount+"one auth tag of four elements")

	// A refused AUTH adds nothing.
	e := rig.Dial(t, relay)
	wrong := relaytest.Sign(agent, relaytest.KindAuth, rig.Now(), "", rig.Tag("relay", relay.URL), rig.Tag("challenge", c.Challenge),
		relaytest.Attestation(owner, agent.Pub, ""))
	if ok, err := e.AuthWith(wrong); err != nil || ok.True {
		t.Fatalf("AUTH for another connection: %v, OK %v", err, ok.True)
	}
	e.Refused(memory(agent, owner), unvouched)
	if log := relay.Log.Text(); strings.Contains(log, owner.Pub) || strings.Contains(log, agent.Pub) {
		t.Errorf("the log names keys:\n%s", log)
	}
}

// A connection keeps sixteen attestations: another replaces the oldest, and the
// rest stay.
func TestAttestation_ManyKeys(t *testing.T) {
	relay, _, owner, _ := attested(t)
	c := rig.Dial(t, relay)
	agents := make([]relaytest.Key, 17)
	for i := range agents {
		agents[i] = relaytest.NewKey(uint64(710 + i))
		ok, err := c.AuthWith(relaytest.Sign(agents[i], relaytest.KindAuth, rig.Now(), "", rig.Tag("relay", relay.URL), rig.Tag("challenge", c.Challenge),
			relaytest.Attestation(owner, agents[i].Pub, "")))
		if err != nil || !ok.True {
			t.Fatalf("AUTH %d: %v %q", i, err, ok.Message)
		}
	}
	for _, k := range agents[1:] {
		c.Store(relaytest.Memory(k, owner.Pub, "mem/one", "cedar", rig.Now()))
	}
	c.Refused(relaytest.Memory(agents[0], owner.Pub, "mem/one", "cedar", rig.Now()), unvouched)
}
