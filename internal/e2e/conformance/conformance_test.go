package conformance

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestConformance asks what the public conformance suite for relays asks (the
// list of cases of relay-tester, in our own words), of a relay that carries
// general traffic: gate.wildcard = "exclude". Where the suite and our pages
// differ, docs/conformance.md says which and why; the cases for those stand here
// too, with the answer that we give. Each group uses keys of its own, so that
// all can share a relay.
func TestConformance(t *testing.T) {
	relay := rig.Start(t, rig.Exclude)
	for _, group := range []struct {
		name string
		run  func(*testing.T, *relaytest.Child)
	}{
		{"NIP-11", conformInfo},
		{"AUTH", conformAuth},
		{"EOSE", conformEOSE},
		{"publishing", conformPublish},
		{"verification", conformVerify},
		{"JSON", conformJSON},
		{"shapes", conformShapes},
		{"time", conformTime},
		{"finding", conformFind},
		{"order", conformOrder},
		{"filters", conformFilters},
		{"ephemeral", conformEphemeral},
		{"replaceable", conformReplaceable},
		{"addressable", conformAddressable},
		{"deletion by id", conformDeleteByID},
		{"deletion by address", conformDeleteByAddress},
		{"deletion by others", conformDeleteByOthers},
		{"live", conformLive},
	} {
		t.Run(group.name, func(t *testing.T) { group.run(t, relay) })
	}
}

func conformInfo(t *testing.T, relay *relaytest.Child) {
	for _, accept := range []string{"application/nostr+json", "text/html, application/nostr+json;q=0.9"} {
		req, err := http.NewRequest("GET", relay.HTTP("/"), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("Accept %q: HTTP %d, %v", accept, resp.StatusCode, err)
		}
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "*" {
			t.Errorf("Access-Control-Allow-Origin is %q", got)
		}
		var doc struct {
			Name       string         `json:"name"`
			Software   string         `json:"software"`
			Version    string         `json:"version"`
			Self       string         `json:"self"`
			NIPs       []int          `json:"supported_nips"`
			Limitation map[string]any `json:"limitation"`
		}
		if err := json.Unmarshal(body, &doc); err != nil {
			t.Fatalf("NIP-11 document: %v\n%s", err, body)
		}
		for _, nip := range []int{1, 4, 9, 11, 40, 42, 45, 50, 59, 62, 67, 70, 77, 98} {
			if !slices.Contains(doc.NIPs, nip) {
				t.Errorf("supported_nips %v lacks %d", doc.NIPs, nip)
			}
		}
		for _, nip := range []int{26, 29, 65, 94, 96} {
			if slices.Contains(doc.NIPs, nip) {
				t.Errorf("supported_nips %v claims %d, which the relay does not do", doc.NIPs, nip)
			}
		}
		wantLimit(t, doc.Limitation, "max_subscriptions", 64)
		wantLimit(t, doc.Limitation, "max_limit", 5000)
		wantLimit(t, doc.Limitation, "default_limit", 500)
		wantLimit(t, doc.Limitation, "max_subid_length", 64)
		if u, err := url.Parse(doc.Software); err != nil || !u.IsAbs() || doc.Version == "" {
			t.Errorf("software %q, which NIP-11 wants to be a URL, version %q", doc.Software, doc.Version)
		}
		if !nostr.IsValidPublicKey(doc.Self) {
			t.Errorf("self %q is no key", doc.Self)
		}
	}
}

func wantLimit(t *testing.T, limits map[string]any, name string, want float64) {
	t.Helper()
	if limits[name] != want {
		t.Errorf("limitation.%s is %v, want %v", name, limits[name], want)
	}
}

func conformAuth(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(201)
	c := rig.Dial(t, relay)
	if len(c.Challenge) < 32 {
		t.Errorf("challenge %q has less than 128 bits", c.Challenge)
	}
	if other := rig.Dial(t, relay); other.Challenge == c.Challenge {
		t.Errorf("two connections have the challenge %q", c.Challenge)
	}
	good := func() *rig.Event { return (*rig.Event)(relaytest.AuthEvent(k, relay.URL, c.Challenge, rig.Now())) }
	badSig := good()
	badSig.Sig = good().Sig[:126] + "00"
	badID := good()
	badID.Content = "changed after signing"
	for what, ev := range map[string]*rig.Event{
		"wrong kind":       rig.Signed(k, 1, rig.Now(), "", rig.Tag("relay", relay.URL), rig.Tag("challenge", c.Challenge)),
		"another relay":    (*rig.Event)(relaytest.AuthEvent(k, "wss://relay.example.com", c.Challenge, rig.Now())),
		"no URL":           (*rig.Event)(relaytest.AuthEvent(k, "intentionally wrong", c.Challenge, rig.Now())),
		"other challenge":  (*rig.Event)(relaytest.AuthEvent(k, relay.URL, "00000000000000000000000000000000", rig.Now())),
		"30 minutes old":   (*rig.Event)(relaytest.AuthEvent(k, relay.URL, c.Challenge, rig.Now()-1800)),
		"30 minutes ahead": (*rig.Event)(relaytest.AuthEvent(k, relay.URL, c.Challenge, rig.Now()+1800)),
		"no relay tag":     rig.Signed(k, relaytest.KindAuth, rig.Now(), "", rig.Tag("challenge", c.Challenge)),
		"no challenge tag": rig.Signed(k, relaytest.KindAuth, rig.Now(), "", rig.Tag("relay", relay.URL)),
		"bad signature":    badSig,
		"bad id":           badID,
	} {
		ok, err := c.AuthWith(ev.Nostr())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		rig.WantRefusal(t, "AUTH with "+what, ok, "invalid: ")
	}
	c.Closed("auth-required: ", relaytest.Filter{"kinds": []int{relaytest.KindWrap}, "#p": []string{k.Pub}})
	again, err := c.Wait(relaytest.Labelled("AUTH"))
	if err != nil || again.Text(0) != c.Challenge {
		t.Errorf("challenge before auth-required: %s, %v; want the first one again", again.Raw, err)
	}
	for _, key := range []relaytest.Key{k, relaytest.NewKey(202)} {
		if err := c.Auth(key); err != nil {
			t.Errorf("a key that the relay has never seen: %v", err)
		}
	}
	for _, key := range []relaytest.Key{k, relaytest.NewKey(202)} {
		c.MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindWrap}, "#p": []string{key.Pub}})
	}
}

func conformEOSE(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(211)
	c := rig.Dial(t, relay)
	none := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{1}, "limit": 10}
	if a := c.MustQuery(none); len(a.Events) != 0 {
		t.Errorf("an author without events: %d events", len(a.Events))
	}
	none["until"] = 1_700_000_000
	past := c.MustSubscribe(none)
	one := relaytest.Note(k, rig.Now()-100, "one")
	complete := c.MustSubscribe(rig.ByID(one))
	if !past.EOSE || !complete.EOSE {
		t.Fatalf("EOSE %v and %v", past.EOSE, complete.EOSE)
	}
	// Subscriptions stay open, even when they look complete (docs/conformance.md).
	c.Store(one)
	if got := c.MustLive(complete.Sub); got.ID != one.ID {
		t.Errorf("live %s, want %s", got.ID, one.ID)
	}
	for _, f := range c.Waiting() {
		if f.Label == "CLOSED" {
			t.Errorf("the relay closed a subscription: %s", f.Raw)
		}
	}
}

func conformPublish(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(221)
	c := rig.Dial(t, relay)
	c.Store(
		relaytest.Note(k, rig.Now(), "the public can write", rig.Tag("test")),
		relaytest.Sign(k, 10002, rig.Now(), "", rig.Tag("r", "wss://relay.example.com")),
		relaytest.Sign(k, 10050, rig.Now(), "", rig.Tag("relay", "wss://relay.example.com")),
		relaytest.Sign(k, 23195, rig.Now(), "", rig.Tag("test")),
		relaytest.Sign(k, 40000, rig.Now(), "kinds from 40000 on are regular"),
		relaytest.Sign(k, 65535, rig.Now(), "the last kind"),
	)
	big := relaytest.Sign(k, 3, rig.Now(), "")
	for i := range 2000 {
		big.Tags = append(big.Tags, rig.Tag("p", relaytest.NewKey(uint64(5000+i%50)).Pub))
	}
	if err := big.Sign(k.Secret); err != nil {
		t.Fatal(err)
	}
	c.Store(big)
	if got := c.MustQuery(rig.ByID(big)); len(got.Events) != 1 || len(got.Events[0].Tags) != 2000 {
		t.Errorf("a contact list of 2000 did not come back whole")
	}
	dup := relaytest.Note(k, rig.Now(), "twice")
	c.Store(dup)
	if ok := c.MustPublish(dup); !ok.True || ok.Message != rig.Duplicate {
		t.Errorf("the same event again: OK %v %q", ok.True, ok.Message)
	}
}

func conformVerify(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(231)
	c := rig.Dial(t, relay)
	zero := relaytest.Note(k, rig.Now(), "signature of zeroes")
	zero.Sig = string(slices.Repeat([]byte("0"), 128))
	c.Refused(zero, "invalid: ")
	id := relaytest.Note(k, rig.Now(), "wrong id")
	id.ID = string(slices.Repeat([]byte("cafebabe"), 8))
	c.Refused(id, "invalid: ")
	content := relaytest.Note(k, rig.Now(), "signed")
	content.Content = "not what was signed"
	c.Refused(content, "invalid: ")
	forged := relaytest.Note(k, rig.Now(), "by somebody else")
	forged.PubKey = relaytest.NewKey(232).Pub
	forged.ID = forged.GetID()
	c.Refused(forged, "invalid: ")
	if a := c.MustQuery(relaytest.Filter{"authors": []string{k.Pub, relaytest.NewKey(232).Pub}}); len(a.Events) != 0 {
		t.Errorf("%d refused events are stored", len(a.Events))
	}
}
