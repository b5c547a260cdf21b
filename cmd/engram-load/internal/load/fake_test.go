package load

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// fakeRelay answers correctly from a list of events, except for what a test
// changes. It shares no code with the code under test but the JSON of its
// answers.
type fakeRelay struct {
	url       string
	challenge string // sent to each connection, if not empty

	// answer may change the messages that answer one frame; nil messages are not
	// sent. hangUp in place of a message closes the connection there.
	answer func(f wire.Frame, messages [][]byte) [][]byte
	// write sends a message; when it is nil, as one frame.
	write func(ws *websocket.Conn, message []byte) error

	mu     sync.Mutex
	events map[string]*nostr.Event
	proved []string // pubkeys, in order of AUTH
}

// hangUp as a message makes the fake close the connection.
var hangUp = []byte("hang up")

func startFake(t testing.TB, r *fakeRelay) string {
	t.Helper()
	if r.events == nil {
		r.events = map[string]*nostr.Event{}
	}
	var conns sync.WaitGroup
	var open sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, req, nil)
		if err != nil {
			return
		}
		conns.Add(1)
		defer conns.Done()
		open.Store(ws, nil)
		defer ws.Close()
		r.serve(ws)
	}))
	t.Cleanup(func() {
		open.Range(func(ws, _ any) bool { return ws.(*websocket.Conn).Close() == nil })
		server.Close()
		conns.Wait()
	})
	r.url = "ws" + strings.TrimPrefix(server.URL, "http")
	return r.url
}

func (r *fakeRelay) serve(ws *websocket.Conn) {
	send := func(b []byte) error {
		if r.write != nil {
			return r.write(ws, b)
		}
		return ws.WriteMessage(websocket.TextMessage, b)
	}
	if r.challenge != "" && send(wire.AppendAuthChallenge(nil, r.challenge)) != nil {
		return
	}
	for {
		_, b, err := ws.ReadMessage()
		if err != nil {
			return
		}
		f, err := wire.ParseFrame(b, wire.Limits{})
		if err != nil {
			send(wire.AppendNotice(nil, "cannot read: "+err.Error()))
			return
		}
		messages := r.handle(f)
		if r.answer != nil && f.SubID != probeSub && f.Label != wire.LabelAuth {
			messages = r.answer(f, messages)
		}
		for _, m := range messages {
			if string(m) == string(hangUp) || send(m) != nil {
				return
			}
		}
	}
}

func (r *fakeRelay) handle(f wire.Frame) [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch f.Label {
	case wire.LabelAuth:
		challenge := f.Event.Tags.Find("challenge")
		ok := wire.Verify(f.Event) == nil && len(challenge) > 1 && challenge[1] == r.challenge
		r.proved = append(r.proved, f.Event.PubKey)
		return [][]byte{wire.AppendOK(nil, f.Event.ID, ok, "")}
	case wire.LabelEvent:
		if _, held := r.events[f.Event.ID]; held {
			return [][]byte{wire.AppendOK(nil, f.Event.ID, true, "duplicate: have it")}
		}
		if err := wire.Verify(f.Event); err != nil {
			return [][]byte{wire.AppendOK(nil, f.Event.ID, false, "invalid: "+err.Error())}
		}
		r.events[f.Event.ID] = f.Event
		return [][]byte{wire.AppendOK(nil, f.Event.ID, true, "")}
	case wire.LabelReq:
		var messages [][]byte
		for _, ev := range r.find(f.Filters[0]) {
			messages = append(messages, wire.AppendEventFrame(nil, f.SubID, wire.AppendEvent(nil, ev)))
		}
		return append(messages, wire.AppendEOSE(nil, f.SubID))
	}
	return nil
}

func (r *fakeRelay) find(f nostr.Filter) (found []*nostr.Event) {
	for _, ev := range r.events {
		if f.Matches(ev) {
			found = append(found, ev)
		}
	}
	slices.SortFunc(found, func(a, b *nostr.Event) int {
		if a.CreatedAt != b.CreatedAt {
			return int(b.CreatedAt - a.CreatedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	if f.Limit > 0 && len(found) > f.Limit {
		found = found[:f.Limit]
	}
	return found
}

// fill makes the fake hold a corpus.
func (r *fakeRelay) fill(t testing.TB, c *Corpus) {
	t.Helper()
	r.events = map[string]*nostr.Event{}
	for _, ev := range readEvents(t, c.Path) {
		r.events[ev.ID] = ev
	}
}

// readEvents reads JSON Lines with the strict parser.
func readEvents(t testing.TB, path string) (all []*nostr.Event) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		ev, err := wire.ParseEvent(lines.Bytes())
		if err != nil {
			t.Fatalf("line %d of %s: %v", len(all)+1, path, err)
		}
		all = append(all, ev)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// reordered is an EVENT message as another relay writes it: other order of
// members, white space, an unknown member.
func reordered(t testing.TB, message []byte) []byte {
	t.Helper()
	var parts []json.RawMessage
	var ev map[string]json.RawMessage
	if err := json.Unmarshal(message, &parts); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(parts[2], &ev); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("[ \"EVENT\" ,\n" + string(parts[1]) + ", {")
	for _, name := range []string{"sig", "content", "tags"} {
		b.WriteString(` "` + name + `" : ` + string(ev[name]) + ",\t")
	}
	b.WriteString(`"relays":["wss://{\"a\\",{"id":"no"}],`)
	for _, name := range []string{"kind", "created_at", "pubkey"} {
		b.WriteString(`"` + name + `":` + string(ev[name]) + ",")
	}
	b.WriteString(`"id":` + string(ev["id"]) + "} ]\n")
	return []byte(b.String())
}
