package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
)

// gateDriver asks questions on one surface.
type gateDriver struct {
	live   bool // asked before the events are there
	socket bool // on the websocket: a challenge comes before auth-required
	http   bool // signed requests: each proves one key, and unsigned ones are refused
	past   bool // asks for superseded versions, not by filter
	all    bool // of everybody: replicas only
	shared bool // takes turns in the table: see gateShares
	thread bool // asks for contracts and their memory, not by filter
	ask    func(c *gateConn, s gate.Surface, asks []gateAsk) ([]gateAnswer, error)
	// judge compares an answer that is no refusal with the events that the oracle
	// shows, and describes what is wrong.
	judge func(o oracle.Options, ask gateAsk, visible []*nostr.Event, got gateAnswer) string
}

// gateDrivers has one driver for each surface of the gate. It is here that a
// new surface must be entered; the line below it does not compile as long as
// the last one is missing, and TestGateDrivers fails for a gap.
var gateDrivers = [...]gateDriver{
	gate.SurfaceReq:    {socket: true, ask: askReq, judge: judgeStored},
	gate.SurfaceLive:   {socket: true, live: true, shared: true, ask: askLive, judge: judgeLive},
	gate.SurfaceCount:  {socket: true, shared: true, ask: askCount, judge: judgeCount},
	gate.SurfaceSearch: {socket: true, shared: true, ask: askSearch, judge: judgeSearch},
	gate.SurfaceSync:   {shared: true, ask: askSync, judge: judgeSync},

	gate.SurfaceQuery:     {http: true, shared: true, ask: askHTTPFilters("/query"), judge: judgeQuery},
	gate.SurfaceHTTPCount: {http: true, shared: true, ask: askHTTPFilters("/count"), judge: judgeCount},
	gate.SurfaceHistory:   {http: true, past: true, ask: askHistory, judge: judgeHistory},
	gate.SurfacePast:      {http: true, past: true, all: true, ask: askHistory, judge: judgePast},

	gate.SurfaceContracts:     threadDriver(readContracts),
	gate.SurfaceContract:      threadDriver(readContract),
	gate.SurfaceThread:        threadDriver(readThread),
	gate.SurfaceThreadEntry:   threadDriver(readThreadEntries),
	gate.SurfaceThreadSummary: threadDriver(readThreadSummary),
	gate.SurfaceThreadSearch:  threadDriver(readThreadSearch),
	gate.SurfaceThreadOrder:   threadDriver(readThreadOrder),
	gate.SurfaceTransitions:   threadDriver(readTransitions),
}

var _ = [1]struct{}{}[gate.NumSurfaces-len(gateDrivers)]

func TestGateDrivers(t *testing.T) {
	for _, s := range gate.Surfaces() {
		if d := gateDrivers[s]; d.ask == nil || (d.judge == nil) != d.thread {
			t.Errorf("surface %v has no driver: the gate's table does not cover it", s)
		}
	}
}

// gateFilters returns filters as they are sent: a nil list is left out, an
// empty one is not.
func gateFilters(filters []nostr.Filter) []any {
	var out []any
	for _, f := range filters {
		m := relaytest.Filter{}
		if f.IDs != nil {
			m["ids"] = f.IDs
		}
		if f.Authors != nil {
			m["authors"] = f.Authors
		}
		if f.Kinds != nil {
			m["kinds"] = f.Kinds
		}
		for name, values := range f.Tags {
			m["#"+name] = values
		}
		if f.Since != nil {
			m["since"] = *f.Since
		}
		if f.Until != nil {
			m["until"] = *f.Until
		}
		if f.Limit > 0 || f.LimitZero {
			m["limit"] = f.Limit
		}
		if f.Search != "" {
			m["search"] = f.Search
		}
		out = append(out, m)
	}
	return out
}

func gateJSON(filters []nostr.Filter) string {
	text, err := json.Marshal(gateFilters(filters))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// pipeline sends all requests at once, each with its subscription id, and
// takes frames until every one has its EOSE, CLOSED or COUNT.
func (c *gateConn) pipeline(s gate.Surface, asks []gateAsk, send func(sub string, filters []nostr.Filter) error) ([]gateAnswer, error) {
	at := map[string]int{}
	for n, ask := range asks {
		sub := fmt.Sprintf("%v-%d", s, n)
		at[sub] = n
		if err := send(sub, ask.filters); err != nil {
			return nil, err
		}
	}
	answers := make([]gateAnswer, len(asks))
	for ended := 0; ended < len(asks); {
		f, err := c.Next()
		if err != nil {
			return nil, fmt.Errorf("after %d of %d answers: %w", ended, len(asks), err)
		}
		if f.Label == "AUTH" {
			c.challenges = append(c.challenges, f.Text(0))
			continue
		}
		if c.isMarkerCopy(f) {
			continue
		}
		n, known := at[f.Sub()]
		if !known {
			return nil, fmt.Errorf("a frame that nobody asked for: %.200s", f.Raw)
		}
		if answers[n].take(f) {
			ended++
		}
	}
	return answers, nil
}

// take adds a frame to an answer and reports whether it was the last one.
func (a *gateAnswer) take(f relaytest.Frame) (last bool) {
	switch f.Label {
	case "EVENT":
		if id := eventID(f); id != "" {
			a.ids = append(a.ids, id)
			return false
		}
	case "CLOSED":
		a.closed = f.Text(1)
	case "COUNT":
		a.count = f.Count()
	case "EOSE":
	default:
		a.closed = fmt.Sprintf("not an answer: %s", f.Raw)
	}
	return true
}

func askReq(c *gateConn, s gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
	return c.pipeline(s, asks, func(sub string, filters []nostr.Filter) error {
		if err := c.Send("REQ", append([]any{sub}, gateFilters(filters)...)...); err != nil {
			return err
		}
		return c.Send("CLOSE", sub)
	})
}

// judgeStored requires every visible event, newest first and ties by lowest id,
// up to the limit of a single filter.
func judgeStored(_ oracle.Options, ask gateAsk, visible []*nostr.Event, got gateAnswer) string {
	sorted := slices.SortedFunc(slices.Values(visible), func(a, b *nostr.Event) int {
		if a.CreatedAt != b.CreatedAt {
			return int(b.CreatedAt - a.CreatedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	want := gateIDs(sorted)
	if f := ask.filters[0]; len(ask.filters) == 1 && (f.Limit > 0 || f.LimitZero) {
		want = want[:min(f.Limit, len(want))]
	}
	if !slices.Equal(got.ids, want) {
		return gateDiff(got.ids, visible) + fmt.Sprintf("; got %.8s, want %.8s", got.ids, want)
	}
	return ""
}

// askLive opens the subscriptions, which stay open; takeLive reads what arrives
// later.
func askLive(c *gateConn, s gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
	answers, err := c.pipeline(s, asks, func(sub string, filters []nostr.Filter) error {
		return c.Send("REQ", append([]any{sub}, gateFilters(filters)...)...)
	})
	for _, a := range answers {
		if len(a.ids) > 0 {
			return nil, fmt.Errorf("%d events of an empty relay, or beside CLOSED", len(a.ids))
		}
	}
	return answers, err
}

// takeLive adds live events to the answers of askLive until the marker arrives
// on the last subscription, which matches nothing else: frames of a connection
// are in order, so all live events have arrived by then.
func (c *gateConn) takeLive(answers []gateAnswer) error {
	for {
		f, err := c.Next()
		if err != nil {
			return err
		}
		id := eventID(f)
		if id == "" {
			return fmt.Errorf("not a live event: %.200s", f.Raw)
		}
		if c.isMarkerCopy(f) {
			continue
		}
		if id == c.marker {
			return nil
		}
		var n int
		if _, err := fmt.Sscanf(f.Sub(), "live-%d", &n); err != nil || n >= len(answers) {
			return fmt.Errorf("no question is called %q", f.Sub())
		}
		answers[n].ids = append(answers[n].ids, id)
	}
}

// eventID returns the id of the event in a frame, "" if there is none. It
// parses as little as possible, because hundreds of thousands arrive.
func eventID(f relaytest.Frame) string {
	const head = `{"id":"`
	if f.Label != "EVENT" || len(f.Args) != 2 {
		return ""
	}
	if text := f.Args[1]; len(text) > len(head)+64 && bytes.HasPrefix(text, []byte(head)) && text[len(head)+64] == '"' {
		return string(text[len(head) : len(head)+64])
	}
	if ev := f.Event(); ev != nil {
		return ev.ID
	}
	return ""
}

// isMarkerCopy reports whether a frame brings the marker to a question that
// also matches it. It may arrive at any time after the marker.
func (c *gateConn) isMarkerCopy(f relaytest.Frame) bool {
	return eventID(f) == c.marker && strings.HasPrefix(f.Sub(), gate.SurfaceLive.String()+"-")
}

// judgeLive requires every visible event once, in the order of publishing.
// Ephemeral events wait for no commit and may arrive earlier.
func judgeLive(_ oracle.Options, _ gateAsk, visible []*nostr.Event, got gateAnswer) string {
	for _, ev := range slices.Clone(visible) {
		if at := slices.Index(got.ids, ev.ID); nostr.IsEphemeralKind(ev.Kind) && at >= 0 {
			got.ids = slices.Delete(slices.Clone(got.ids), at, at+1)
			visible = slices.DeleteFunc(slices.Clone(visible), func(other *nostr.Event) bool { return other == ev })
		}
	}
	if want := gateIDs(visible); !slices.Equal(got.ids, want) {
		return gateDiff(got.ids, visible) + fmt.Sprintf("; got %.8s, want %.8s", got.ids, want)
	}
	return ""
}

func askCount(c *gateConn, s gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
	return c.pipeline(s, asks, func(sub string, filters []nostr.Filter) error {
		return c.Send("COUNT", append([]any{sub}, gateFilters(filters)...)...)
	})
}

// judgeCount requires the exact number, whatever the limit.
func judgeCount(_ oracle.Options, _ gateAsk, visible []*nostr.Event, got gateAnswer) string {
	if got.count != int64(len(visible)) {
		return fmt.Sprintf("COUNT %d, want %d", got.count, len(visible))
	}
	return ""
}

// gateWord is the word that the search driver adds to every filter.
const gateWord = "cedar"

func askSearch(c *gateConn, s gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
	searching := make([]gateAsk, len(asks))
	for i, ask := range asks {
		searching[i].filters = slices.Clone(ask.filters)
		for n := range ask.filters {
			searching[i].filters[n].Search = gateWord
		}
	}
	return askReq(c, s, searching)
}

// judgeSearch requires, in any order, every visible note, article and plain
// contract entry with the word, and no event that is hidden or lacks it. Which
// other kinds are searched does not concern the gate.
func judgeSearch(o oracle.Options, ask gateAsk, visible []*nostr.Event, got gateAnswer) string {
	var may, must []*nostr.Event
	for _, ev := range visible {
		if !strings.Contains(ev.Content, gateWord) {
			continue
		}
		may = append(may, ev)
		if gateSearched(o, ev) {
			must = append(must, ev)
		}
	}
	for i, id := range got.ids {
		if slices.Contains(got.ids[:i], id) {
			return "a hit came twice"
		}
		if !slices.Contains(gateIDs(may), id) {
			return gateDiff(got.ids, may)
		}
	}
	if f := ask.filters[0]; len(ask.filters) == 1 && (f.Limit > 0 || f.LimitZero) {
		if len(got.ids) > f.Limit || len(got.ids) < min(f.Limit, len(must)) {
			return fmt.Sprintf("%d hits of %d at limit %d", len(got.ids), len(must), f.Limit)
		}
		return ""
	}
	for _, ev := range must {
		if !slices.Contains(got.ids, ev.ID) {
			return gateDiff(got.ids, must)
		}
	}
	return ""
}

func gateSearched(o oracle.Options, ev *nostr.Event) bool {
	if ev.Kind == relaytest.KindEntry {
		return true // only plain entries contain the word
	}
	return (ev.Kind == relaytest.KindNote || ev.Kind == 30023) && !oracle.Gated(o, ev)
}

func gateIDs(events []*nostr.Event) []string {
	ids := make([]string, len(events))
	for i, ev := range events {
		ids[i] = ev.ID
	}
	return ids
}

// gateDiff lists by kind the ids that are there and should not be, and those
// that are missing.
func gateDiff(got []string, want []*nostr.Event) string {
	var missing []string
	for _, ev := range want {
		if !slices.Contains(got, ev.ID) {
			missing = append(missing, fmt.Sprintf("kind %d %.8s", ev.Kind, ev.ID))
		}
	}
	var extra []string
	for _, id := range got {
		if !slices.Contains(gateIDs(want), id) {
			extra = append(extra, id[:8])
		}
	}
	return fmt.Sprintf("%d events; not visible but there: %v; visible but not there: %v", len(got), extra, missing)
}
