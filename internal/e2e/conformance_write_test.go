package e2e

import (
	"fmt"
	"testing"

	"engramd/internal/e2e/relaytest"
)

func conformJSON(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(241)
	c := dial(t, relay)
	at := fmt.Sprint(now() - 60)
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
		id, object := rawEvent(t, k, at, "1", "[]", one.raw)
		if ok := c.publishRaw(id, object); !ok.True {
			t.Errorf("%s: OK false %q", what, ok.Message)
			continue
		}
		a := c.query(relaytest.Filter{"ids": []string{id}})
		if len(a.Events) != 1 || a.Events[0].Content != one.want {
			t.Errorf("%s: came back as %v", what, a.Events)
		}
	}
	// The exceptions: see docs/conformance.md.
	for what, raw := range map[string]string{
		"raw control characters":                 "line\nbreak and\ttab",
		"an escaped slash in the hashed text":    `a\/b`,
		"an escaped letter in the hashed text":   `\u0061`,
		"a lone surrogate":                       `\ud800`,
		"an escape that JSON does not have":      `\x41`,
		"an escaped non-ASCII character, hashed": `\u00e9`,
	} {
		id, object := rawEvent(t, k, at, "1", "[]", raw)
		wantRefusal(t, what, c.publishRaw(id, object), "invalid: ")
	}
	// How the client escapes on the wire is its own business as long as the id
	// is right, and the order of members and unknown ones are too.
	ev := relaytest.Note(k, now()-61, "a/b é")
	object := fmt.Sprintf(`{"sig":"%s","x":{"y":[1]},"content":"\u0061\/b \u00e9","tags":[],"kind":1,"created_at":%d,"pubkey":"%s","id":"%s"}`,
		ev.Sig, ev.CreatedAt, ev.PubKey, ev.ID)
	if ok := c.publishRaw(ev.ID, object); !ok.True {
		t.Errorf("other escapes and order on the wire: OK false %q", ok.Message)
	}
	a := c.query(byID(ev))
	if len(a.Events) != 1 || a.Events[0].Content != "a/b é" {
		t.Errorf("other escapes on the wire came back as %v", a.Events)
	}
	control := relaytest.Note(k, now()-62, "\x01\x02\x1f")
	c.store(control)
	if a := c.query(byID(control)); len(a.Events) != 1 || a.Events[0].Content != control.Content {
		t.Errorf("escaped control characters came back as %v", a.Events)
	}
}

func conformShapes(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(251)
	c := dial(t, relay)
	at := fmt.Sprint(now() - 60)
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
		id, object := rawEvent(t, k, part.at, part.kind, part.tags, "")
		wantRefusal(t, what, c.publishRaw(id, object), "invalid: ")
	}
	id, object := rawEvent(t, k, "-1", "1", "[]", "from 1969")
	wantRefusal(t, "a time before 1970", c.publishRaw(id, object), "invalid: member \"created_at\": must not be ")
	if a := c.query(relaytest.Filter{"authors": []string{k.Pub}}); len(a.Events) != 0 {
		t.Errorf("%d malformed events are stored", len(a.Events))
	}
	c.store(relaytest.Sign(k, 30023, now(), "an addressable event without d is one with an empty d"))
	if a := c.query(relaytest.Filter{"kinds": []int{30023}, "authors": []string{k.Pub}}); len(a.Events) != 1 {
		t.Errorf("addressable without d: %d events", len(a.Events))
	}
}

func conformTime(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(261)
	c := dial(t, relay)
	for what, at := range map[string]int64{
		"one week old":      now() - 7*86400,
		"one month old":     now() - 28*86400,
		"one year old":      now() - 365*86400,
		"from before nostr": 1_420_070_461,
		"from before 2000":  915_148_861,
		"from 1970":         0,
		"ten minutes ahead": now() + 600,
	} {
		ev := relaytest.Note(k, at, what)
		if ok := c.publish(ev); !ok.True || ok.Message != "" {
			t.Errorf("%s: OK %v %q", what, ok.True, ok.Message)
		}
		wantIDs(t, what, c.query(byID(ev)).IDs(), ids(ev))
	}
	for what, at := range map[string]int64{
		"twenty minutes ahead":  now() + 1200,
		"one year ahead":        now() + 365*86400,
		"beyond signed 32 bit":  1<<31 + 1,
		"beyond 32 bit":         1<<32 + 1,
		"the end of all clocks": 1<<63 - 1,
	} {
		ok := c.publish(relaytest.Note(k, at, what))
		if ok.True || ok.Message == "" {
			t.Errorf("%s: OK %v %q, want false and a reason", what, ok.True, ok.Message)
		}
	}
}

func conformEphemeral(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(271)
	c, other := dial(t, relay), dial(t, relay)
	open := c.subscribe(relaytest.Filter{"kinds": []int{25000}, "authors": []string{k.Pub}})
	ev := relaytest.Sign(k, 25000, now(), "seen and forgotten", tag("test"))
	other.store(ev)
	if got := c.live(open.Sub); got.ID != ev.ID {
		t.Errorf("live %s, want %s", got.ID, ev.ID)
	}
	wantIDs(t, "an ephemeral event is not stored", c.query(relaytest.Filter{"kinds": []int{25000}, "authors": []string{k.Pub}}).IDs(), nil)
	if n := c.count(relaytest.Filter{"kinds": []int{25000}}); n != 0 {
		t.Errorf("COUNT finds %d ephemeral events", n)
	}
}

func conformLive(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(281)
	c, other := dial(t, relay), dial(t, relay)
	mine := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{1}}
	open := c.subscribe(mine)
	var want []string
	for i := range 20 {
		ev := relaytest.Note(k, now(), fmt.Sprint("live ", i))
		other.store(ev)
		want = append(want, ev.ID)
	}
	var got []string
	for range want {
		got = append(got, c.live(open.Sub).ID)
	}
	wantIDs(t, "live events in the order of publishing", got, want)

	// The same id again replaces the subscription: one delivery, by the new one.
	if a, err := c.Subscribe(open.Sub, relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{7}}); err != nil || !a.EOSE {
		t.Fatalf("replacing a subscription: %v, EOSE %v", err, a.EOSE)
	}
	note, reaction := relaytest.Note(k, now(), "no longer asked for"), relaytest.Sign(k, 7, now(), "+")
	other.store(note, reaction)
	if ev := c.live(open.Sub); ev.ID != reaction.ID {
		t.Errorf("replaced subscription brought kind %d", ev.Kind)
	}
	// After CLOSE nothing comes; the marker on another subscription proves it.
	marker := c.subscribe(relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{8}})
	c.send("CLOSE", open.Sub)
	if err := c.Barrier(); err != nil {
		t.Fatal(err)
	}
	end := relaytest.Sign(k, 8, now(), "")
	other.store(relaytest.Sign(k, 7, now(), "-"), end)
	if ev := c.live(marker.Sub); ev.ID != end.ID {
		t.Errorf("marker: got kind %d", ev.Kind)
	}
	if left := c.Waiting(); len(left) != 0 {
		t.Errorf("after CLOSE: %s", left[0].Raw)
	}
}
