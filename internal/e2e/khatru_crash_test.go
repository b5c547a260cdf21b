package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// The tests named TestKhatruFault are one for each fault of khatru 0.19.1 that
// can reach us from the network (docs/khatru.md has the table). This file: one
// unauthenticated message that ends the process.

// wantAlive wants that the daemon still serves on a new connection, as the same
// process.
func wantAlive(t *testing.T, relay *relaytest.Child) {
	t.Helper()
	select {
	case <-relay.Done():
		t.Fatalf("the daemon is gone:\n%s", relay.Log.Text())
	default:
	}
	c := dial(t, relay)
	if ok := c.publish(relaytest.Note(relaytest.NewKey(801), now(), fmt.Sprint("alive ", t.Name()))); !ok.True {
		t.Errorf("alive, but OK false %q", ok.Message)
	}
	c.Close()
}

// With libsecp256k1 a pubkey over 64 or a signature over 128 hex digits panicked
// in CheckSignature, before any hook; also through AUTH and HTTP.
func TestKhatruFault_OverlongHexEndsProcess(t *testing.T) {
	relay := start(t)
	k := relaytest.NewKey(802)
	for what, change := range map[string]func(*event){
		"pubkey of 66 digits":    func(e *event) { e.PubKey += "00" },
		"pubkey of 64 KiB":       func(e *event) { e.PubKey = strings.Repeat("ab", 32<<10) },
		"signature of 130":       func(e *event) { e.Sig += "00" },
		"signature of 64 KiB":    func(e *event) { e.Sig = strings.Repeat("ab", 32<<10) },
		"signature of 2":         func(e *event) { e.Sig = "ab" },
		"no signature":           func(e *event) { e.Sig = "" },
		"no pubkey":              func(e *event) { e.PubKey = "" },
		"odd pubkey":             func(e *event) { e.PubKey = e.PubKey[:63] },
		"pubkey not on a curve":  func(e *event) { e.PubKey = strings.Repeat("f", 64) },
		"signature out of range": func(e *event) { e.Sig = strings.Repeat("f", 128) },
	} {
		c := dial(t, relay)
		for _, label := range []string{"EVENT", "AUTH"} {
			ev := relaytest.Note(k, now(), "overlong")
			if label == "AUTH" {
				ev = relaytest.AuthEvent(k, relay.URL, c.Challenge, now())
			}
			change((*event)(ev))
			ev.ID = ev.GetID() // right for what it says
			c.send(label, ev)
			f, err := c.Wait(relaytest.OKFor(ev.ID))
			if err != nil {
				t.Fatalf("%s with %s: %v\n%s", label, what, err, relay.Log.Text())
			}
			wantRefusal(t, label+" with "+what, f.OK(), "invalid: ")
		}
		ev := relaytest.Note(k, now(), "overlong")
		change((*event)(ev))
		ev.ID = ev.GetID()
		body, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := relay.Post(k, "/events", body); err != nil || r.Status != http.StatusBadRequest {
			t.Errorf("/events with %s: HTTP %d %s, %v", what, r.Status, r.Body, err)
		}
	}
	for what, header := range map[string]string{
		"overlong pubkey": brokenHTTPAuth(t, relay, k, func(e *event) { e.PubKey += "00" }),
		"overlong sig":    brokenHTTPAuth(t, relay, k, func(e *event) { e.Sig += "00" }),
		"no tags":         brokenHTTPAuth(t, relay, k, func(e *event) { e.Tags = nil }),
		"not base64":      "Nostr %%%",
		"not an event":    "Nostr W10=",
		"another scheme":  "Bearer x",
	} {
		r, err := relay.Do(http.MethodPost, "/query", []byte(`[{"kinds":[1]}]`), http.Header{"Authorization": {header}})
		if err != nil || r.Status != http.StatusUnauthorized {
			t.Errorf("NIP-98 with %s: HTTP %d %s, %v", what, r.Status, r.Body, err)
		}
	}
	wantAlive(t, relay)
}

// A replaceable or addressable event with a bare ["d"] tag panicked in AddEvent.
func TestKhatruFault_BareDTagEndsProcess(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	k := relaytest.NewKey(803)
	for _, kind := range []int{0, 3, 10002, 30023, relaytest.KindEntry, relaytest.KindState, relaytest.KindEngram} {
		for _, tags := range []string{`[["d"]]`, `[["d"],["d","x"]]`, `[["d","x"],["d"]]`, `[[]]`, `[["a"],["e"],["p"],["d"]]`} {
			id, object := rawEvent(t, k, fmt.Sprint(now()), fmt.Sprint(kind), tags, "")
			wantRefusal(t, fmt.Sprint("kind ", kind, " with ", tags), c.publishRaw(id, object), "invalid: ")
		}
	}
	// Tags without a value that name nothing are harmless and must stay so.
	for _, tags := range []string{`[["e"]]`, `[["a"]]`, `[["k"]]`, `[["a","5:x"]]`, `[["a","::"]]`, `[["e","zz"]]`, `[["a","99999999999999999999:x:y"]]`} {
		id, object := rawEvent(t, k, fmt.Sprint(now()), "5", tags, "")
		if ok := c.publishRaw(id, object); ok.Message == "" && !ok.True {
			t.Errorf("kind 5 with %s: OK false without a reason", tags)
		}
	}
	wantAlive(t, relay)
}

// khatru's negentropy had several panics, and 8 bytes that allocated gigabytes.
// It is not enabled: what is asked with an id is refused with it (NIP-77), so
// that no client waits for an answer.
func TestKhatruFault_NegentropyEndsProcess(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	for _, frame := range []string{
		`["NEG-OPEN","n",{"kinds":[1]},"61ffffffffffffff7f"]`,
		`["NEG-OPEN","n",{},""]`,
		`["NEG-OPEN","n",{"kinds":[30174]},"6100000200"]`,
		`["NEG-MSG","n","61"]`,
	} {
		c.raw(frame)
		if f := c.expect("NEG-ERR"); string(f.Raw) != `["NEG-ERR","n","blocked: negentropy (NIP-77) is not served here"]` {
			t.Errorf("%s: answered with %s", frame, f.Raw)
		}
	}
	c.raw(`["NEG-CLOSE","n"]`) // no answer: the next one is that of the next frame
	for _, frame := range []string{`["NEG-MSG"]`, `["NEG-OPEN"]`, `["NEG-OPEN",{},"61"]`, `["NEG-CLOSE"]`} {
		c.raw(frame)
		if f := c.expect("NOTICE"); f.Text(0) == "" {
			t.Errorf("%s: answered with %s", frame, f.Raw)
		}
	}
	wantAlive(t, relay)
}

// khatru's NIP-86 handler panicked on a header without u, took any key for an
// admin, and read bodies without limit. Nothing is routed to it.
func TestKhatruFault_ManagementEndsProcess(t *testing.T) {
	relay := start(t)
	k := relaytest.NewKey(804)
	body := []byte(`{"method":"banpubkey","params":["` + k.Pub + `"]}`)
	for what, header := range map[string]string{
		"no u tag":      brokenHTTPAuth(t, relay, k, func(e *event) { e.Tags = nil }),
		"any key":       relaytest.HTTPAuth(k, http.MethodPost, relay.HTTP("/"), body, now()),
		"no header":     "",
		"no event":      "Nostr e30=",
		"overlong hex":  brokenHTTPAuth(t, relay, k, func(e *event) { e.PubKey += "00" }),
		"a wrong event": "Nostr bnVsbA==",
	} {
		r, err := relay.Do(http.MethodPost, "/", body, http.Header{
			"Content-Type": {"application/nostr+json+rpc"}, "Authorization": {header},
		})
		if err != nil || r.Status < 400 || r.Status >= 500 {
			t.Errorf("NIP-86 with %s: HTTP %d %.200s, %v; want a refusal", what, r.Status, r.Body, err)
		}
	}
	huge := make([]byte, 8<<20)
	if r, err := relay.Do(http.MethodPost, "/", huge, http.Header{"Content-Type": {"application/nostr+json+rpc"}}); err == nil && r.Status < 400 {
		t.Errorf("NIP-86 with 8 MiB: HTTP %d", r.Status)
	}
	c := dial(t, relay)
	c.store(relaytest.Note(k, now(), "not banned"))
	wantAlive(t, relay)
}

// Not khatru's alone: deep nesting, huge numbers and the like.
func TestKhatruFault_NoFrameEndsProcess(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	deep := strings.Repeat("[", 100_000)
	for _, frame := range []string{
		deep, `["REQ","s",` + deep, `["EVENT",` + strings.Repeat(`{"a":`, 20_000), `["EVENT",{"tags":` + deep,
		`null`, `{}`, `[]`, `[null]`, `[1]`, `"EVENT"`, `["EVENT"]`, `["EVENT",null]`, `["EVENT",[]]`, `["EVENT",{}]`,
		`["REQ"]`, `["REQ","s"]`, `["REQ",null,{}]`, `["REQ","s",null]`, `["COUNT"]`, `["COUNT","s"]`, `["CLOSE"]`, `["CLOSE",{}]`, `["AUTH"]`,
		`["AUTH","challenge"]`, `["AUTH",{}]`, `["EVENT",{"kind":1e999}]`, `["REQ","s",{"since":1e999}]`, `["REQ","s",{"limit":-1}]`,
		`["REQ","s",{"limit":99999999999999999999}]`, `["REQ","s",{"kinds":[1.0]}]`, `["REQ","s",{"#e":[null]}]`, "\x00", "", " ",
	} {
		c.raw(frame)
	}
	if err := c.Barrier(); err != nil {
		t.Fatalf("after rubbish: %v\n%s", err, relay.Log.Text())
	}
	wantAlive(t, relay)
}
