package bench

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// The test binary also acts as the servers that are measured: its first
// argument says which.
const (
	argServe  = "serve-for-test"  // DATA: a relay that keeps events in memory
	argLie    = "lie-for-test"    // DATA: one that refuses every event and finds none
	argFill   = "fill-for-test"   // DATA FILE
	argEnd    = "end-for-test"    // ends before it is ready
	argStored = "stored-for-test" // prints a version
)

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !strings.HasSuffix(os.Args[1], "-for-test") {
		os.Exit(m.Run())
	}
	if err := program(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func program(what string, args []string) error {
	switch what {
	case argFill:
		text, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(args[0], "events"), text, 0o600)
	case argServe, argLie:
		return serveTest(args[0], what == argLie)
	case argStored:
		fmt.Println("test server 1\nsecond line")
		return nil
	}
	return errors.New("the first line of trouble")
}

// testRelay answers EVENT and REQ as far as the workloads here need it.
type testRelay struct {
	lies   bool
	mu     sync.Mutex
	events []*nostr.Event
}

func serveTest(data string, lies bool) error {
	r := &testRelay{lies: lies}
	if err := r.load(filepath.Join(data, "events")); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "level=INFO msg=\"ready url=ws://%v metrics=off\"\n", listener.Addr())
	return http.Serve(listener, http.HandlerFunc(r.serve))
}

func (r *testRelay) load(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		ev := new(nostr.Event)
		if err := ev.UnmarshalJSON(lines.Bytes()); err != nil {
			return err
		}
		r.events = append(r.events, ev)
	}
	return nil
}

func (r *testRelay) serve(w http.ResponseWriter, req *http.Request) {
	ws, err := (&websocket.Upgrader{}).Upgrade(w, req, nil)
	if err != nil {
		return
	}
	defer ws.Close()
	for {
		_, b, err := ws.ReadMessage()
		if err != nil {
			return
		}
		f, err := wire.ParseFrame(b, wire.Limits{})
		if err != nil {
			return
		}
		for _, m := range r.answer(f) {
			if ws.WriteMessage(websocket.TextMessage, m) != nil {
				return
			}
		}
	}
}

func (r *testRelay) answer(f wire.Frame) (messages [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch f.Label {
	case wire.LabelEvent:
		r.events = append(r.events, f.Event)
		return [][]byte{wire.AppendOK(nil, f.Event.ID, !r.lies, "blocked: no")}
	case wire.LabelReq:
		var found []*nostr.Event
		for _, ev := range r.events {
			if f.Filters[0].Matches(ev) && !r.lies {
				found = append(found, ev)
			}
		}
		slices.SortFunc(found, func(a, b *nostr.Event) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
		})
		for _, ev := range found[:min(len(found), f.Filters[0].Limit)] {
			messages = append(messages, wire.AppendEventFrame(nil, f.SubID, wire.AppendEvent(nil, ev)))
		}
		return append(messages, wire.AppendEOSE(nil, f.SubID))
	}
	return nil
}
