package proof

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// gateReader asks one node as one reader.
type gateReader struct {
	*relaytest.Client
	t       *testing.T
	c       *nodes.Cluster
	node    int
	keys    []relaytest.Key
	answers table
	subs    map[string]string // of live subscriptions: what they ask
}

// AuthWithName proves a key for the URL that all nodes share.
func (r *gateReader) AuthWithName(k relaytest.Key) error {
	ok, err := r.AuthWith(relaytest.AuthEvent(k, "ws://"+nodes.Name, r.Challenge, time.Now().Unix()))
	if err == nil && !ok.True {
		err = fmt.Errorf("AUTH refused: %s", ok.Message)
	}
	return err
}

const marks = "marks"

// listen opens a subscription for each question, and one for the marker.
func (r *gateReader) listen(g gateCase) {
	r.t.Helper()
	r.subs = map[string]string{}
	for what, filter := range g.asks {
		a, err := r.Subscribe(r.NextSub(), filter)
		if err != nil {
			r.t.Fatal(err)
		}
		if a.Closed != "" {
			r.answers["live "+what] = "CLOSED " + a.Closed
			continue
		}
		r.subs[a.Sub] = what
		r.answers["live "+what] = ""
	}
	if _, err := r.Subscribe(marks, relaytest.Filter{"kinds": []int{relaytest.KindNote}}); err != nil {
		r.t.Fatal(err)
	}
}

// hear collects live events up to the marker.
func (r *gateReader) hear(marker *event) {
	r.t.Helper()
	for {
		f, err := r.Next()
		if err != nil {
			r.t.Fatalf("node %d: the marker does not come: %v", r.node, err)
		}
		if ev := f.Event(); ev != nil && f.Sub() == marks && ev.ID == marker.ID {
			return
		} else if ev != nil && f.Sub() != marks {
			r.answers["live "+r.subs[f.Sub()]] += idsOf([]*event{ev})
		}
	}
}

// ask asks every other surface.
func (r *gateReader) ask(g gateCase) {
	r.t.Helper()
	for what, filter := range g.asks {
		r.answers["REQ "+what] = r.req(filter)
		searching := relaytest.Filter{"search": "cedar"}
		for name, value := range filter {
			searching[name] = value
		}
		r.answers["search "+what] = r.req(searching)
		n, closed, err := r.Count(filter)
		if err != nil {
			r.t.Fatal(err)
		}
		r.answers["COUNT "+what] = fmt.Sprint(n, " ", closed)
		r.answers["NEG-OPEN "+what] = r.sync(filter)
		body, err := json.Marshal([]any{filter})
		if err != nil {
			r.t.Fatal(err)
		}
		for _, path := range []string{"/query", "/count"} {
			r.answers[path+" "+what] = httpAsk(r.t, r.c.Node(r.node), r.keys, http.MethodPost, path, body)
		}
	}
	for what, path := range g.past {
		r.answers["/history "+what] = httpAsk(r.t, r.c.Node(r.node), r.keys, http.MethodGet, path, nil)
	}
}

func (r *gateReader) req(filter relaytest.Filter) string {
	r.t.Helper()
	a, err := r.Query(filter)
	if err != nil {
		r.t.Fatal(err)
	}
	return idsOf(a.Events) + a.Closed
}

// sync opens a reconciliation (NIP-77) with an empty set, so that the answer
// lists the ids of all events shown.
func (r *gateReader) sync(filter relaytest.Filter) string {
	r.t.Helper()
	sub := r.NextSub()
	if err := r.Send("NEG-OPEN", sub, filter, "6100000200"); err != nil {
		r.t.Fatal(err)
	}
	f, err := r.Wait(func(f relaytest.Frame) bool { return strings.HasPrefix(f.Label, "NEG-") && f.Sub() == sub })
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.Send("NEG-CLOSE", sub); err != nil {
		r.t.Fatal(err)
	}
	return f.Label + " " + f.Text(1)
}

var eventID = regexp.MustCompile(`"id": ?"([0-9a-f]{16})|"count": ?([0-9]+)`)

// idsIn returns the ids, or the number, in the body of an answer.
func idsIn(body []byte) (out string) {
	for _, m := range eventID.FindAllSubmatch(body, -1) {
		out += fmt.Sprintf("[id %s]%s", m[1], m[2])
	}
	return out
}
