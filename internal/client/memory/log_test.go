package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

func TestLogAtAndRestore(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL, bridgetest.Start(t).URL, clienttest.StartHoard(t, &clienttest.Hoard{})}
	start := time.Now()
	now := start
	agent := agentOf(t, "agent", "owner", relays, func(o *client.Options) { o.Clock = func() time.Time { return now } })
	var wrote []client.Entry
	for i := range 4 {
		wrote = append(wrote, mustSet(t, agent, "mem/a", fmt.Sprint("version ", i)))
		now = now.Add(2 * time.Second)
	}
	if _, _, err := agent.Remove(t.Context(), "mem/a", false); err != nil {
		t.Fatal(err)
	}
	mustSet(t, agent, "mem/b", "another")
	for name, m := range map[string]*Memory{"agent": agent, "owner": ownerOf(t, "agent", "owner", relays, nil)} {
		log, status, err := m.Log(t.Context(), "mem/a")
		if err != nil || status.Partial || len(log) != 5 {
			t.Fatalf("%s: %d versions, %v, %+v", name, len(log), err, status)
		}
		if !log[0].Head || !log[0].Tombstone || log[1].Head {
			t.Errorf("%s: the newest is %+v", name, log[0])
		}
		for i, v := range log[1:] {
			if v.Entry != wrote[3-i] || v.Err != nil || len(v.Relays) != 3 {
				t.Errorf("%s: version %d is %+v", name, i, v)
			}
		}
		if !errors.Is(status.Relays[2].Err, client.ErrNoHistory) || status.Relays[0].Err != nil || status.Relays[1].Err != nil {
			t.Errorf("%s: %+v", name, status.Relays)
		}
	}
	at := func(when When) (client.Entry, error) {
		e, _, err := agent.At(t.Context(), "mem/a", when)
		return e, err
	}
	for i, w := range wrote {
		for _, when := range []When{{ID: w.ID}, {ID: w.ID[:12]}, {Time: w.CreatedAt}, {Time: w.CreatedAt + 1}} {
			if got, err := at(when); err != nil || got != w {
				t.Errorf("version %d at %+v: %+v, %v", i, when, got, err)
			}
		}
	}
	if _, err := at(When{Time: start.Unix() - 1}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("before there was any: %v", err)
	}
	if _, err := at(When{ID: strings.Repeat("0", 64)}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown id: %v", err)
	}
	if _, err := at(When{Time: now.Unix()}); !errors.Is(err, client.ErrTombstone) {
		t.Errorf("now: %v", err)
	}
	restored, _, err := agent.Restore(t.Context(), "mem/a", When{ID: wrote[1].ID}, nil)
	if err != nil || restored.Text != "version 1" || restored.ID == wrote[1].ID || restored.CreatedAt < now.Unix() {
		t.Errorf("restore: %+v, %v", restored, err)
	}
	if got, _, err := agent.Get(t.Context(), "mem/a"); err != nil || got != restored {
		t.Errorf("after restore: %+v, %v", got, err)
	}
	if _, _, err := agent.Log(t.Context(), "mem/none"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("no log: %v", err)
	}
	down := agentOf(t, "agent", "owner", append(relays, bridgetest.Down(t)), nil)
	if _, _, err := down.Log(t.Context(), "mem/none"); !errors.Is(err, client.ErrPartial) {
		t.Errorf("no log, one relay down: %v", err)
	}
	if _, _, err := down.At(t.Context(), "mem/a", When{Time: start.Unix() - 1}); !errors.Is(err, client.ErrPartial) {
		t.Errorf("no version, one relay down: %v", err)
	}
}

// A restored body is a copy of the old one.
func TestRestoreKeepsTheOldBody(t *testing.T) {
	h := &clienttest.Hoard{}
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, nil)
	body := must(nipae.ParseBody([]byte(`{"slug":"mem/a","value":"old","mood":1}`)))
	old := clienttest.Sealed(t, "agent", "owner", body, time.Now().Unix()-10)
	h.Put(old, clienttest.EngramAt(t, "agent", "owner", "mem/a", "new", time.Now().Unix()-5))
	if _, _, err := m.Restore(t.Context(), "mem/a", When{ID: old.ID}, nil); err != nil {
		t.Fatal(err)
	}
	if got := newestBody(t, h, m); got != `{"slug":"mem/a","value":"old","mood":1}` {
		t.Errorf("restored %s", got)
	}
}

// A relay's history is read page by page to its end.
func TestHistoryIsPaged(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL}
	base := time.Now().Unix() - 1000
	for i := range 23 {
		put(t, relays, clienttest.EngramAt(t, "agent", "owner", "mem/a", fmt.Sprint(i), base+int64(i)))
	}
	m := ownerOf(t, "agent", "owner", relays, func(o *client.Options) { o.Limits.Page = 5 })
	log, status, err := m.Log(t.Context(), "mem/a")
	if err != nil || len(log) != 23 || status.Partial {
		t.Errorf("%d versions, %v, %+v", len(log), err, status)
	}
}

// answering is a relay without events whose HTTP answers a test gives.
func answering(t testing.TB, events []*nostr.Event, h http.HandlerFunc) string {
	hd := &clienttest.Hoard{Events: events, Hints: true}
	return clienttest.Start(t, &clienttest.Fake{Serve: hd.Serve, HTTP: h})
}

func jsonAnswer(status int, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		w.Write(body)
	}
}

// A relay's HTTP answers are checked like all others.
func TestHistoryThatLies(t *testing.T) {
	now := time.Now().Unix()
	head := clienttest.EngramAt(t, "agent", "owner", "mem/a", "head", now)
	old := clienttest.EngramAt(t, "agent", "owner", "mem/a", "old", now-10)
	forged := *old
	forged.Content = clienttest.EngramAt(t, "agent", "owner", "mem/a", "forged", now-10).Content
	invented := clienttest.EngramAt(t, "second", "owner", "mem/a", "invented", now-5)
	other := clienttest.EngramAt(t, "agent", "owner", "mem/b", "another slug", now-5)
	endless := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for sep := "["; ; sep = "," {
			if _, err := fmt.Fprint(w, sep, string(wire.AppendEvent(nil, old))); err != nil {
				return
			}
		}
	}
	silent := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte("["))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	more := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(client.TruncatedHeader, "true")
		jsonAnswer(200, clienttest.EventsJSON([]*nostr.Event{old}))(w, r)
	}
	tests := []struct {
		name     string
		http     http.HandlerFunc
		versions int
		err      error // of the relay's status; nil: none
		partial  bool
	}{
		{"the truth", jsonAnswer(200, clienttest.EventsJSON([]*nostr.Event{old})), 2, nil, false},
		{"nothing", jsonAnswer(200, []byte("[]")), 1, nil, false},
		{"forged", jsonAnswer(200, clienttest.EventsJSON([]*nostr.Event{&forged, old})), 2, nil, true},
		{"invented and other slugs", jsonAnswer(200, clienttest.EventsJSON([]*nostr.Event{invented, other, old})), 2, nil, true},
		{"no such endpoint", jsonAnswer(404, nil), 1, client.ErrNoHistory, false},
		{"a page for people", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, 1, client.ErrNoHistory, false},
		{"refused", jsonAnswer(401, []byte(`{"error":"auth-required: clock"}`)), 1, client.ErrAuth, true},
		{"forbidden", jsonAnswer(403, []byte(`nonsense`)), 1, client.ErrAuth, true},
		{"overloaded", jsonAnswer(429, []byte(`{"error":"rate-limited: x"}`)), 1, client.ErrRefused, true},
		{"broken", jsonAnswer(503, []byte(`{"error":"error: x"}`)), 1, client.ErrRefused, true},
		{"cut off", jsonAnswer(200, append([]byte("["), wire.AppendEvent(nil, old)...)), 2, client.ErrMisbehaved, true},
		{"an object", jsonAnswer(200, []byte(`{"error":"x"}`)), 1, client.ErrMisbehaved, true},
		{"no events", jsonAnswer(200, []byte(`[1,null,{"id":"x"}]`)), 1, nil, true},
		{"always more", more, 2, nil, true},
		{"without end", endless, 2, client.ErrMisbehaved, true},
		{"without an end in time", silent, 1, client.ErrTimeout, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := answering(t, []*nostr.Event{head}, tt.http)
			real := bridgetest.Start(t).URL
			put(t, []string{real}, head)
			scaled(t, func(timeout func(*client.Options)) error {
				start := time.Now()
				m := ownerOf(t, "agent", "owner", []string{url, real}, func(o *client.Options) { timeout(o); o.Limits.Events = 2000 })
				log, status, err := m.Log(t.Context(), "mem/a")
				if err != nil || len(log) != tt.versions || log[0].Text != "head" || !log[0].Head {
					return fmt.Errorf("%d versions, %w", len(log), err)
				}
				if tt.versions == 2 && log[1].Text != "old" {
					return fmt.Errorf("the old version is %+v", log[1])
				}
				if got := status.Relays[0].Err; !errors.Is(got, tt.err) {
					return fmt.Errorf("its error is %w, want %v", got, tt.err)
				}
				if status.Partial != tt.partial || status.Relays[1].Err != nil || !status.Relays[1].Complete {
					return fmt.Errorf("status %+v", status)
				}
				return inTime("log", start, timeout)
			})
		})
	}
}

// A version that the agent signed and nobody can read is in the log, marked as
// unreadable.
func TestUnreadableVersions(t *testing.T) {
	now := time.Now().Unix()
	good := clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now)
	garbled := relabelled(t, clienttest.EngramAt(t, "second", "owner", "mem/a", "x", now+1), good.Tags)
	h := &clienttest.Hoard{Events: []*nostr.Event{garbled}}
	m := ownerOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, nil)
	log, _, err := m.Log(t.Context(), "mem/a")
	if !errors.Is(err, client.ErrUnreadable) || len(log) != 1 || log[0].Err == nil || log[0].ID != garbled.ID {
		t.Errorf("alone: %+v, %v", log, err)
	}
	h.Put(good)
	log, status, err := m.Log(t.Context(), "mem/a")
	if err != nil || len(log) != 2 || log[0].Err == nil || log[0].Head || !log[1].Head || status.Doubtful != 1 {
		t.Errorf("beside another: %+v, %v", log, err)
	}
	if _, _, err := m.At(t.Context(), "mem/a", When{ID: garbled.ID}); !errors.Is(err, client.ErrUnreadable) {
		t.Errorf("at it: %v", err)
	}
	if got, _, err := m.At(t.Context(), "mem/a", When{Time: now + 5}); err != nil || got.ID != good.ID {
		t.Errorf("at its time: %+v, %v", got, err)
	}
}

func TestParseWhen(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	now := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]When{
		"1700000000":           {Time: 1_700_000_000, ID: "1700000000"},
		"0":                    {Time: 0},
		id:                     {ID: id},
		id[:8]:                 {ID: id[:8], Time: 1234567},
		"1234567890123":        {ID: "1234567890123"},
		"2026-03-04T05:06:07Z": {Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).Unix()},
		"2026-03-04":           {Time: time.Date(2026, 3, 4, 23, 59, 59, 0, time.UTC).Unix()},
		"2026-03-05":           {Time: now.Unix()},
		"yesterday":            {Time: time.Date(2026, 3, 4, 23, 59, 59, 0, time.UTC).Unix()},
		"2h":                   {Time: now.Unix() - 7200},
	} {
		if got, err := ParseWhen(text, now); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", id[:7] + "g", "-1", strings.ToUpper(id[8:40]), id + "0", "2026-13-01"} {
		if got, err := ParseWhen(text, now); !errors.Is(err, client.ErrWhen) {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	versions := []Version{{Entry: client.Entry{ID: "aaaaaaaa1"}}, {Entry: client.Entry{ID: "aaaaaaaa2"}}}
	digits := []Version{{Entry: client.Entry{ID: "b", CreatedAt: 12345679}}, {Entry: client.Entry{ID: "123456780", CreatedAt: 5}}}
	if v, err := pick(digits, must(ParseWhen("12345678", now))); err != nil || v != &digits[1] {
		t.Errorf("digits that an id begins with: %+v, %v", v, err)
	}
	if v, err := pick(digits, must(ParseWhen("12345679", now))); err != nil || v != &digits[0] {
		t.Errorf("digits that no id begins with: %+v, %v", v, err)
	}
	if _, err := pick(versions, When{ID: "aaaaaaaa"}); !errors.Is(err, client.ErrWhen) {
		t.Errorf("part of several ids: %v", err)
	}
}

// TestLogWithoutHTTP: from a relay with a websocket only, the log has the
// current version, and is marked as incomplete.
func TestLogWithoutHTTP(t *testing.T) {
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
			c.Close()
		}
	}
	head := clienttest.EngramAt(t, "agent", "owner", "mem/a", "head", time.Now().Unix())
	for name, h := range map[string]http.HandlerFunc{"hangs up": hangUp, "is broken": jsonAnswer(503, []byte(`{"error":"error: x"}`))} {
		m := agentOf(t, "agent", "owner", []string{answering(t, []*nostr.Event{head}, h)}, nil)
		log, status, err := m.Log(t.Context(), "mem/a")
		if err != nil || len(log) != 1 || !log[0].Head || !status.Partial || status.Relays[0].Err == nil {
			t.Errorf("%s: %+v, %v, %+v", name, log, err, status)
		}
		if _, _, err := m.Log(t.Context(), "mem/none"); !errors.Is(err, client.ErrPartial) {
			t.Errorf("%s, nothing there: %v", name, err)
		}
	}
}

func TestHas(t *testing.T) {
	home, plain, other := bridgetest.Start(t).URL, clienttest.StartHoard(t, &clienttest.Hoard{}), clienttest.StartHoard(t, &clienttest.Hoard{})
	old := clienttest.EngramAt(t, "agent", "owner", "mem/a", "old", 1_790_000_000)
	head := clienttest.EngramAt(t, "agent", "owner", "mem/a", "head", 1_790_000_001)
	put(t, []string{home}, old, head)
	put(t, []string{plain}, old)
	for name, c := range map[string]struct {
		relays []string
		id     string
		want   string
	}{
		"one relay has it":       {[]string{home, other}, head.ID, fmt.Sprint(Found{There: true, At: []string{home}, Sure: true})},
		"another has it still":   {[]string{home, plain}, old.ID, fmt.Sprint(Found{There: true, At: []string{plain}, Sure: true})},
		"a history has it":       {[]string{home}, old.ID, fmt.Sprint(Found{There: true, Sure: true})},
		"nothing is promised":    {[]string{home}, strings.Repeat("a", 64), fmt.Sprint(Found{})},
		"a relay has no history": {[]string{home, plain}, strings.Repeat("a", 64), fmt.Sprint(Found{})},
		"a relay has nothing":    {[]string{bridgetest.Start(t).URL}, old.ID, fmt.Sprint(Found{})},
	} {
		found, err := agentOf(t, "agent", "owner", c.relays, nil).Has(t.Context(), "mem/a", c.id, 1_790_000_000)
		if got := fmt.Sprint(found); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
	if _, err := agentOf(t, "agent", "owner", []string{home, bridgetest.Down(t)}, nil).Has(t.Context(), "mem/a", strings.Repeat("a", 64), 0); !errors.Is(err, client.ErrPartial) {
		t.Errorf("one does not answer: %v", err)
	}
}

// TestHasForSure: that no history has an event says that it was never stored only where all
// relays promise to keep what was written then, and no more has come since.
func TestHasForSure(t *testing.T) {
	const signed = int64(1_790_000_000)
	version := func(text string, at int64) *nostr.Event {
		return clienttest.EngramAt(t, "agent", "owner", "mem/a", text, at)
	}
	head := version("head", signed+30)
	relay := func(info string, past ...*nostr.Event) string {
		return answering(t, []*nostr.Event{head}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/history" {
				all, _ := json.Marshal(past)
				jsonAnswer(200, all)(w, r)
				return
			}
			jsonAnswer(200, []byte(info))(w, r)
		})
	}
	long, one, two := version("long before", signed-9000), version("one", signed+10), version("two", signed+20)
	for name, c := range map[string]struct {
		info string
		past []*nostr.Event
		sure bool
	}{
		"nothing is promised":     {`{}`, []*nostr.Event{long}, false},
		"nothing is kept":         {`{"history":{"versions":0,"days":0}}`, nil, false},
		"one came since":          {`{"history":{"versions":2,"days":0}}`, []*nostr.Event{long}, true},
		"as many as are kept":     {`{"history":{"versions":2,"days":0}}`, []*nostr.Event{two, one}, false},
		"fewer than are kept":     {`{"history":{"versions":4,"days":0}}`, []*nostr.Event{two, one, long}, true},
		"for as long as that":     {`{"history":{"versions":100,"days":2}}`, []*nostr.Event{one}, true},
		"not for as long as that": {`{"history":{"versions":100,"days":1}}`, []*nostr.Event{one}, false},
	} {
		for _, beside := range []bool{false, true} {
			relays := []string{relay(c.info, c.past...)}
			if beside {
				relays = append(relays, relay(`{"history":{"versions":100,"days":0}}`, one))
			}
			m := agentOf(t, "agent", "owner", relays, func(o *client.Options) {
				o.Clock = func() time.Time { return time.Unix(signed+24*3600, 0) }
			})
			if found, err := m.Has(t.Context(), "mem/a", strings.Repeat("a", 64), signed); err != nil || found.There || found.Sure != c.sure {
				t.Errorf("%s: %+v, %v", name, found, err)
			}
		}
	}
}
