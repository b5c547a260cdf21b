package conformance

import (
	"fmt"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

func conformJSON(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(241)
	c := rig.Dial(t, relay)
	at := fmt.Sprint(rig.Now() - 60)
	accepted := map[string]struct{ raw, want string }{
		"escapes of NIP-01": {
			`linebreak\ndoublequote\"backslash\\carriagereturn\rtab\tbackspace\bformfeed\fend`,
			"linebreak\ndoublequote\"backslash\\carriagereturn\rtab\tbackspace\bformfeed\fend",
		},
		"UTF-8 non-characters":       {"\uFDD1\U0010FFFE", "\uFDD1\U0010FFFE"},
		"text beyond ASCII as is":    {"žluťoučký kůň 🐎", "žluťoučký kůň 🐎"},
		"characters HTML would hide": {"<b>&amp;</b>\u2028", "<b>&amp;</b>\u2028"},
		"an empty content":           {"", ""},
	}
	for what, one := range accepted {
		id, object := rig.RawEvent(t, k, at, "1", "[]", one.raw)
		if ok := c.PublishRaw(id, object); !ok.True {
			t.Errorf("%s: OK false %q", what, ok.Message)
			continue
		}
		a := c.MustQuery(relaytest.Filter{"ids": []string{id}})
		if len(a.Events) != 1 || a.Events[0].Content != one.want {
			t.Errorf("%s: came back as %v", what, a.Events)
		}
	}
	// The exceptions of docs/conformance.md.
	for what, raw := range map[string]string{
		"raw control characters":                 "line\nbreak and\ttab",
		"an escaped slash in the hashed text":    `a\/b`,
		"an escaped letter in the hashed text":   `\u0061`,
		"a lone surrogate":                       `\ud800`,
		"an escape that JSON does not have":      `\x41`,
		"an escaped non-ASCII character, hashed": `\u00e9`,
	} {
		id, object := rig.RawEvent(t, k, at, "1", "[]", raw)
		rig.WantRefusal(t, what, c.PublishRaw(id, object), "invalid: ")
	}
	// Escapes, the order of members and unknown members are free as long as the id
	// is right.
	ev := relaytest.Note(k, rig.Now()-61, "a/b é")
	object := fmt.Sprintf(`{"sig":"%s","x":{"y":[1]},"content":"\u0061\/b \u00e9","tags":[],"kind":1,"created_at":%d,"pubkey":"%s","id":"%s"}`,
		ev.Sig, ev.CreatedAt, ev.PubKey, ev.ID)
	if ok := c.PublishRaw(ev.ID, object); !ok.True {
		t.Errorf("other escapes and order on the wire: OK false %q", ok.Message)
	}
	a := c.MustQuery(rig.ByID(ev))
	if len(a.Events) != 1 || a.Events[0].Content != "a/b é" {
		t.Errorf("other escapes on the wire came back as %v", a.Events)
	}
	control := relaytest.Note(k, rig.Now()-62, "\x01\x02\x1f")
	c.Store(control)
	if a := c.MustQuery(rig.ByID(control)); len(a.Events) != 1 || a.Events[0].Content != control.Content {
		t.Errorf("escaped control characters came back as %v", a.Events)
	}
}

func conformShapes(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(251)
	c := rig.Dial(t, relay)
	at := fmt.Sprint(rig.Now() - 60)
	for what, part := range map[string]struct{ at, kind, tags string }{
		"empty tags":           {at, "1", `[[],[]]`},
		"a null tag":           {at, "1", `[null]`},
		"a tag of numbers":     {at, "1", `[["t",1]]`},
		"tags that are null":   {at, "1", `null`},
		"tags that are a text": {at, "1", `"t"`},
		"a bare d":             {at, "30023", `[["d"]]`},
		"kind 65536":           {at, "65536", `[]`},
		"kind -1":              {at, "-1", `[]`},
		"kind 1.5":             {at, "1.5", `[]`},
		"kind as a text":       {at, `"1"`, `[]`},
		"time 1e10":            {"1e10", "1", `[]`},
		"time 1.5":             {"1.5", "1", `[]`},
		"time as a text":       {`"5"`, "1", `[]`},
		"time null":            {"null", "1", `[]`},
	} {
		id, object := rig.RawEvent(t, k, part.at, part.kind, part.tags, "")
		rig.WantRefusal(t, what, c.PublishRaw(id, object), "invalid: ")
	}
	id, object := rig.RawEvent(t, k, "-1", "1", "[]", "from 1969")
	rig.WantRefusal(t, "a time before 1970", c.PublishRaw(id, object), "invalid: member \"created_at\": must not be ")
	if a := c.MustQuery(relaytest.Filter{"authors": []string{k.Pub}}); len(a.Events) != 0 {
		t.Errorf("%d malformed events are stored", len(a.Events))
	}
	c.Store(relaytest.Sign(k, 30023, rig.Now(), "an addressable event without d is one with an empty d"))
	if a := c.MustQuery(relaytest.Filter{"kinds": []int{30023}, "authors": []string{k.Pub}}); len(a.Events) != 1 {
		t.Errorf("addressable without d: %d events", len(a.Events))
	}
}

func conformTime(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(261)
	c := rig.Dial(t, relay)
	for what, at := range map[string]int64{
		"one week old":      rig.Now() - 7*86400,
		"one month old":     rig.Now() - 28*86400,
		"one year old":      rig.Now() - 365*86400,
		"from before nostr": 1_420_070_461,
		"from before 2000":  915_148_861,
		"from 1970":         0,
		"ten minutes ahead": rig.Now() + 600,
	} {
		ev := relaytest.Note(k, at, what)
		if ok := c.MustPublish(ev); !ok.True || ok.Message != "" {
			t.Errorf("%s: OK %v %q", what, ok.True, ok.Message)
		}
		rig.WantIDs(t, what, c.MustQuery(rig.ByID(ev)).IDs(), rig.IDs(ev))
	}
	for what, at := range map[string]int64{
		"twenty minutes ahead":  rig.Now() + 1200,
		"one year ahead":        rig.Now() + 365*86400,
		"beyond signed 32 bit":  1<<31 + 1,
		"beyond 32 bit":         1<<32 + 1,
		"the end of all clocks": 1<<63 - 1,
	} {
		ok := c.MustPublish(relaytest.Note(k, at, what))
		if ok.True || ok.Message == "" {
			t.Errorf("%s: OK %v %q, want false and a reason", what, ok.True, ok.Message)
		}
	}
}

func conformEphemeral(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(271)
	c, other := rig.Dial(t, relay), rig.Dial(t, relay)
	open := c.MustSubscribe(relaytest.Filter{"kinds": []int{25000}, "authors": []string{k.Pub}})
	ev := relaytest.Sign(k, 25000, rig.Now(), "seen and forgotten", rig.Tag("test"))
	other.Store(ev)
	if got := c.MustLive(open.Sub); got.ID != ev.ID {
		t.Errorf("live %s, want %s", got.ID, ev.ID)
	}
	rig.WantIDs(t, "an ephemeral event is not stored", c.MustQuery(relaytest.Filter{"kinds": []int{25000}, "authors": []string{k.Pub}}).IDs(), nil)
	if n := c.MustCount(relaytest.Filter{"kinds": []int{25000}}); n != 0 {
		t.Errorf("COUNT finds %d ephemeral events", n)
	}
}

func conformLive(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(281)
	c, other := rig.Dial(t, relay), rig.Dial(t, relay)
	mine := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{1}}
	open := c.MustSubscribe(mine)
	var want []string
	for i := range 20 {
		ev := relaytest.Note(k, rig.Now(), fmt.Sprint("live ", i))
		other.Store(ev)
		want = append(want, ev.ID)
	}
	var got []string
	for range want {
		got = append(got, c.MustLive(open.Sub).ID)
	}
	rig.WantIDs(t, "live events in the order of publishing", got, want)

	// The same subscription id again replaces the subscription: one delivery, by
	// the new one.
	if a, err := c.Subscribe(open.Sub, relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{7}}); err != nil || !a.EOSE {
		t.Fatalf("replacing a subscription: %v, EOSE %v", err, a.EOSE)
	}
	note, reaction := relaytest.Note(k, rig.Now(), "no longer asked for"), relaytest.Sign(k, 7, rig.Now(), "+")
	other.Store(note, reaction)
	if ev := c.MustLive(open.Sub); ev.ID != reaction.ID {
		t.Errorf("replaced subscription brought kind %d", ev.Kind)
	}
	// Nothing arrives after CLOSE; the marker on another subscription proves it.
	marker := c.MustSubscribe(relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{8}})
	c.MustSend("CLOSE", open.Sub)
	if err := c.Barrier(); err != nil {
		t.Fatal(err)
	}
	end := relaytest.Sign(k, 8, rig.Now(), "")
	other.Store(relaytest.Sign(k, 7, rig.Now(), "-"), end)
	if ev := c.MustLive(marker.Sub); ev.ID != end.ID {
		t.Errorf("marker: got kind %d", ev.Kind)
	}
	if left := c.Waiting(); len(left) != 0 {
		t.Errorf("after CLOSE: %s", left[0].Raw)
	}
}
