package crash

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// With libsecp256k1 a pubkey over 64 or a signature over 128 hex digits panicked
// in CheckSignature, before any hook; also through AUTH and HTTP.
func TestKhatruFault_OverlongHexEndsProcess(t *testing.T) {
	relay := rig.Start(t)
	k := relaytest.NewKey(802)
	for what, change := range map[string]func(*rig.Event){
		"pubkey of 66 digits":    func(e *rig.Event) { e.PubKey += "00" },
		"pubkey of 64 KiB":       func(e *rig.Event) { e.PubKey = strings.Repeat("ab", 32<<10) },
		"signature of 130":       func(e *rig.Event) { e.Sig += "00" },
		"signature of 64 KiB":    func(e *rig.Event) { e.Sig = strings.Repeat("ab", 32<<10) },
		"signature of 2":         func(e *rig.Event) { e.Sig = "ab" },
		"no signature":           func(e *rig.Event) { e.Sig = "" },
		"no pubkey":              func(e *rig.Event) { e.PubKey = "" },
		"odd pubkey":             func(e *rig.Event) { e.PubKey = e.PubKey[:63] },
		"pubkey not on a curve":  func(e *rig.Event) { e.PubKey = strings.Repeat("f", 64) },
		"signature out of range": func(e *rig.Event) { e.Sig = strings.Repeat("f", 128) },
	} {
		c := rig.Dial(t, relay)
		for _, label := range []string{"EVENT", "AUTH"} {
			ev := relaytest.Note(k, rig.Now(), "overlong")
			if label == "AUTH" {
				ev = relaytest.AuthEvent(k, relay.URL, c.Challenge, rig.Now())
			}
			change((*rig.Event)(ev))
			ev.ID = ev.GetID() // matches its content
			c.MustSend(label, ev)
			f, err := c.Wait(relaytest.OKFor(ev.ID))
			if err != nil {
				t.Fatalf("%s with %s: %v\n%s", label, what, err, relay.Log.Text())
			}
			rig.WantRefusal(t, label+" with "+what, f.OK(), "invalid: ")
		}
		ev := relaytest.Note(k, rig.Now(), "overlong")
		change((*rig.Event)(ev))
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
		"overlong pubkey": rig.BrokenHTTPAuth(t, relay, k, func(e *rig.Event) { e.PubKey += "00" }),
		"overlong sig":    rig.BrokenHTTPAuth(t, relay, k, func(e *rig.Event) { e.Sig += "00" }),
		"no tags":         rig.BrokenHTTPAuth(t, relay, k, func(e *rig.Event) { e.Tags = nil }),
		"not base64":      "Nostr %%%",
		"not an event":    "Nostr W10=",
		"another scheme":  "Bearer x",
	} {
		r, err := relay.Do(http.MethodPost, "/query", []byte(`[{"kinds":[1]}]`), http.Header{"Authorization": {header}})
		if err != nil || r.Status != http.StatusUnauthorized {
			t.Errorf("NIP-98 with %s: HTTP %d %s, %v", what, r.Status, r.Body, err)
		}
	}
	rig.WantAlive(t, relay)
}

// A replaceable or addressable event with a bare ["d"] tag panicked in AddEvent.
func TestKhatruFault_BareDTagEndsProcess(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	k := relaytest.NewKey(803)
	for _, kind := range []int{0, 3, 10002, 30023, relaytest.KindEntry, relaytest.KindState, relaytest.KindEngram} {
		for _, tags := range []string{`[["d"]]`, `[["d"],["d","x"]]`, `[["d","x"],["d"]]`, `[[]]`, `[["a"],["e"],["p"],["d"]]`} {
			id, object := rig.RawEvent(t, k, fmt.Sprint(rig.Now()), fmt.Sprint(kind), tags, "")
			rig.WantRefusal(t, fmt.Sprint("kind ", kind, " with ", tags), c.PublishRaw(id, object), "invalid: ")
		}
	}
	// Tags without a value are harmless where they name nothing, and must stay so.
	for _, tags := range []string{`[["e"]]`, `[["a"]]`, `[["k"]]`, `[["a","5:x"]]`, `[["a","::"]]`, `[["e","zz"]]`, `[["a","99999999999999999999:x:y"]]`} {
		id, object := rig.RawEvent(t, k, fmt.Sprint(rig.Now()), "5", tags, "")
		if ok := c.PublishRaw(id, object); ok.Message == "" && !ok.True {
			t.Errorf("kind 5 with %s: OK false without a reason", tags)
		}
	}
	rig.WantAlive(t, relay)
}

// khatru's negentropy had several panics, and 8 bytes that allocated gigabytes.
// engramd has its own: such messages are refused with their subscription id
// (NIP-77), so that no client waits for an answer.
func TestKhatruFault_NegentropyEndsProcess(t *testing.T) {
	frames := map[string][2]string{ // when it is served, and when it is not
		`["NEG-OPEN","n",{"kinds":[1]},"6100000281ffffffffffff7f"]`:        {"invalid: ", "blocked: "},
		`["NEG-OPEN","n",{"kinds":[1]},"61ffffffffffffff7f"]`:              {"invalid: ", "blocked: "},
		`["NEG-OPEN","n",{"kinds":[1]},"6101ffffffffffffffff7f"]`:          {"invalid: ", "blocked: "},
		`["NEG-OPEN","n",{},""]`:                                           {"invalid: ", "invalid: "},
		`["NEG-OPEN","n",{"kinds":[30174]},"6100000200"]`:                  {"auth-required: ", "blocked: "},
		`["NEG-OPEN","n",{"kinds":[1],"limit":1},"6100000200"]`:            {"invalid: ", "blocked: "},
		`["NEG-MSG","n","61"]`:                                             {"closed: ", "blocked: "},
		`["NEG-MSG","n","61` + strings.Repeat("ff", 300<<10) + `"]`:        {"invalid: ", "invalid: "},
		`["NEG-OPEN","n",{"kinds":[1]},` + strings.Repeat("[", 1000) + `]`: {"invalid: ", "invalid: "},
	}
	for i, env := range [][]string{nil, {"ENGRAMD_SYNC_SERVE=false"}} {
		relay := rig.Start(t, env...)
		for frame, answers := range frames {
			c := rig.Dial(t, relay)
			c.Raw(frame)
			if answers[i] == "auth-required: " {
				c.Expect("AUTH")
			}
			if f := c.Expect("NEG-ERR"); f.Sub() != "n" || !strings.HasPrefix(f.Text(1), answers[i]) {
				t.Errorf("%.80s, %v: answered with %s", frame, env, f.Raw)
			}
		}
		rig.WantAlive(t, relay)
	}
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	c.Raw(`["NEG-CLOSE","n"]`) // no answer: the next one is that of the next frame
	for _, frame := range []string{`["NEG-MSG"]`, `["NEG-OPEN"]`, `["NEG-OPEN",{},"61"]`, `["NEG-CLOSE"]`} {
		c.Raw(frame)
		if f := c.Expect("NOTICE"); f.Text(0) == "" {
			t.Errorf("%s: answered with %s", frame, f.Raw)
		}
	}
	rig.WantAlive(t, relay)
}

// khatru's NIP-86 handler panicked on a header without u, took any key for an
// admin, and read bodies without limit. Nothing is routed to it.
func TestKhatruFault_ManagementEndsProcess(t *testing.T) {
	relay := rig.Start(t)
	k := relaytest.NewKey(804)
	body := []byte(`{"method":"banpubkey","params":["` + k.Pub + `"]}`)
	for what, header := range map[string]string{
		"no u tag":      rig.BrokenHTTPAuth(t, relay, k, func(e *rig.Event) { e.Tags = nil }),
		"any key":       relaytest.HTTPAuth(k, http.MethodPost, relay.HTTP("/"), body, rig.Now()),
		"no header":     "",
		"no event":      "Nostr e30=",
		"overlong hex":  rig.BrokenHTTPAuth(t, relay, k, func(e *rig.Event) { e.PubKey += "00" }),
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
	c := rig.Dial(t, relay)
	c.Store(relaytest.Note(k, rig.Now(), "not banned"))
	rig.WantAlive(t, relay)
}

// Not khatru's alone: deep nesting, huge numbers and the like.
func TestKhatruFault_NoFrameEndsProcess(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	deep := strings.Repeat("[", 100_000)
	for _, frame := range []string{
		deep, `["REQ","s",` + deep, `["EVENT",` + strings.Repeat(`{"a":`, 20_000), `["EVENT",{"tags":` + deep,
		`null`, `{}`, `[]`, `[null]`, `[1]`, `"EVENT"`, `["EVENT"]`, `["EVENT",null]`, `["EVENT",[]]`, `["EVENT",{}]`,
		`["REQ"]`, `["REQ","s"]`, `["REQ",null,{}]`, `["REQ","s",null]`, `["COUNT"]`, `["COUNT","s"]`, `["CLOSE"]`, `["CLOSE",{}]`, `["AUTH"]`,
		`["AUTH","challenge"]`, `["AUTH",{}]`, `["EVENT",{"kind":1e999}]`, `["REQ","s",{"since":1e999}]`, `["REQ","s",{"limit":-1}]`,
		`["REQ","s",{"limit":99999999999999999999}]`, `["REQ","s",{"kinds":[1.0]}]`, `["REQ","s",{"#e":[null]}]`, "\x00", "", " ",
	} {
		c.Raw(frame)
	}
	if err := c.Barrier(); err != nil {
		t.Fatalf("after rubbish: %v\n%s", err, relay.Log.Text())
	}
	rig.WantAlive(t, relay)
}
