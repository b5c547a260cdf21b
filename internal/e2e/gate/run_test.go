package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
	"engramd/nips/nip01"
)

// gateReader is a reader: a connection that proved these keys.
type gateReader struct {
	name string
	keys []relaytest.Key
}

func (r gateReader) pubs() []string {
	pubs := []string{}
	for _, k := range r.keys {
		pubs = append(pubs, k.Pub)
	}
	return pubs
}

// gateAsk is one request: by filters, for superseded versions, or for a
// contract.
type gateAsk struct {
	name             string
	kind, constraint int // its place in the table
	filters          []nostr.Filter
	past             *gatePast
	thread           *gateThread
}

// of returns the requests that a surface supports.
func (d gateDriver) of(asks []gateAsk) []gateAsk {
	return slices.DeleteFunc(slices.Clone(asks), func(ask gateAsk) bool {
		return d.past != (ask.past != nil) || ask.past != nil && d.all != ask.past.everybody || d.thread != (ask.thread != nil)
	})
}

// gateRun is one relay under some options, with events, readers, and each
// reader's questions on every surface.
type gateRun struct {
	build   relaytest.Build
	options oracle.Options
	events  []*nostr.Event // in the order in which they are published
	readers []gateReader
	asks    [][]gateAsk    // per reader
	kept    []*nostr.Event // superseded versions, once read
	private []gatePrivate  // written over HTTP once the events are there
	shares  gateShares
}

// gateMarker is the kind of the event that tells every connection that all live
// events before it were delivered. No rule gates it.
const gateMarker = 9999

// gateEnv returns the options as the daemon's environment. A connection needs
// one open subscription per question.
func gateEnv(o oracle.Options) []string {
	env := []string{
		"ENGRAMD_CONTRACTS_ANY_ID=true",
		"ENGRAMD_LIMITS_SUBSCRIPTIONS=2000", "ENGRAMD_LIMITS_MEMORY=16GiB",
	}
	for name, value := range map[string]string{
		"WILDCARD": o.Wildcard, "IDS": o.IDs, "CONTRACTS": o.Contracts, "RULES": strings.Join(o.Rules, ";"), "REPLICAS": strings.Join(o.Replicas, ","),
	} {
		if value != "" {
			env = append(env, "ENGRAMD_GATE_"+name+"="+value)
		}
	}
	if o.AuthRequired {
		env = append(env, "ENGRAMD_READ_AUTH_REQUIRED=true")
	}
	return env
}

// gateConn is the connection of one reader.
type gateConn struct {
	*rig.Peer
	gateReader
	http       *rig.Caller
	replies    *gateReplies
	marker     string   // id of the event that is published last
	challenges []string // further AUTH frames after the first
}

// run asks everything on every surface and compares with the oracle: live
// subscriptions are opened before the events are published, other questions
// asked after.
func (g *gateRun) run(t *testing.T) {
	t.Helper()
	g.options = oracle.Judge(g.options, g.events)
	relay := relaytest.Start(t, relaytest.Options{Build: g.build, Env: gateEnv(g.options)})
	marker := relaytest.Sign(relaytest.NewKey(4711), gateMarker, 1_700_000_500, "marker")
	conns, requests := make([]*gateConn, len(g.readers)), rig.NewCaller(t, relay)
	answers := map[gate.Surface][][]gateAnswer{}
	for i, r := range g.readers {
		conns[i] = &gateConn{Peer: rig.Dial(t, relay, r.keys...), gateReader: r, http: requests, marker: marker.ID}
	}
	for _, s := range gate.Surfaces() {
		if gateDrivers[s].live {
			answers[s] = g.askAll(t, conns, s)
		}
	}
	for _, conn := range conns {
		if !g.deaf(conn) {
			conn.MustSubscribe(relaytest.Filter{"ids": []string{marker.ID}})
		}
	}
	publisher := rig.Dial(t, relay)
	g.publish(t, publisher)
	publisher.Store(marker)
	for i, conn := range conns {
		if g.deaf(conn) {
			continue // the end of run checks that nothing at all arrived
		}
		if err := conn.takeLive(answers[gate.SurfaceLive][i]); err != nil {
			t.Fatalf("%s: %v", conn.name, err)
		}
	}
	g.whisper(t, requests)
	shown := append(oracle.Left(oracle.Heads(g.events), g.events), marker)
	for _, s := range gate.Surfaces() {
		events := shown
		if gateDrivers[s].live {
			events = g.delivered()
		} else {
			answers[s] = g.askAll(t, conns, s)
		}
		t.Run(s.String(), func(t *testing.T) {
			for i, conn := range conns {
				g.compare(t, conn, s, g.asksOn(s, i), answers[s][i], events)
			}
		})
	}
	for i, conn := range conns {
		g.compareChallenges(t, conn, i)
	}
}

// deaf reports whether the relay delivers nothing live to a reader.
func (g *gateRun) deaf(c *gateConn) bool { return g.options.AuthRequired && len(c.keys) == 0 }

// askAll has every reader ask all its questions on one surface.
func (g *gateRun) askAll(t *testing.T, conns []*gateConn, s gate.Surface) [][]gateAnswer {
	t.Helper()
	all, replies := make([][]gateAnswer, len(conns)), &gateReplies{all: map[gateRequest]func() (relaytest.Response, error){}}
	for i, conn := range conns {
		conn.replies = replies
		var err error
		if all[i], err = gateDrivers[s].ask(conn, s, g.asksOn(s, i)); err != nil {
			t.Fatalf("%s on %v: %v", conn.name, s, err)
		}
	}
	return all
}

// publish sends all events at once. Each must be accepted, except those that
// are superseded before they arrive; entries of contracts are accepted even
// then.
func (g *gateRun) publish(t *testing.T, p *rig.Peer) {
	t.Helper()
	for _, ev := range g.events {
		p.MustSend("EVENT", ev)
	}
	for i, ev := range g.events {
		f, err := p.Wait(relaytest.OKFor(ev.ID))
		if err != nil {
			t.Fatalf("publish: %v", err)
		}
		stale := ev.Kind != relaytest.KindEntry && !slices.Contains(oracle.Heads(g.events[:i+1]), ev)
		if ok := f.OK(); ok.True == stale || strings.HasPrefix(ok.Message, "duplicate:") != stale || (!stale && ok.Message != "") {
			t.Fatalf("publish kind %d (superseded before it came: %v): %s", ev.Kind, stale, f.Raw)
		}
	}
}

// past returns the superseded versions that the relay keeps.
func (g *gateRun) past() []*nostr.Event {
	if g.kept == nil {
		g.kept = oracle.Past(g.options, g.events)
	}
	return g.kept
}

// delivered returns the events that were new on arrival; entries of contracts
// are, whatever their date.
func (g *gateRun) delivered() []*nostr.Event {
	var news []*nostr.Event
	for i, ev := range g.events {
		if ev.Kind == relaytest.KindEntry || slices.Contains(oracle.Heads(g.events[:i+1]), ev) {
			news = append(news, ev)
		}
	}
	return news
}

// gateAnswer is the answer of a surface.
type gateAnswer struct {
	closed    string   // text of CLOSED, or the error of an HTTP answer
	ids       []string // in the order in which they came
	count     int64    // of a surface that tells a number only
	truncated bool     // an HTTP answer says that a limit cut it
	text      string   // of a contract, or of its memory
}

// compare compares one reader's answers with the oracle's.
func (g *gateRun) compare(t *testing.T, r *gateConn, s gate.Surface, asks []gateAsk, answers []gateAnswer, events []*nostr.Event) {
	t.Helper()
	wrong := 0
	for n, ask := range asks {
		reader := r.asked(gateDrivers[s], n)
		complaint := g.judge(reader, ask, s, events, answers[n])
		if complaint == "" {
			continue
		}
		t.Errorf("%s asks %s: %s\nfilters %s\nversions %+v\nreader %v\noptions %+v",
			r.name, ask.name, complaint, gateJSON(ask.filters), ask.past, reader, g.options)
		if wrong++; wrong == 10 {
			t.Fatal("too many wrong answers")
		}
	}
}

// refused returns the prefix with which a request must be refused as a whole.
func (g *gateRun) refused(d gateDriver, o oracle.Options, reader []string, ask gateAsk) string {
	if d.http && len(reader) == 0 {
		return nip01.PrefixAuthRequired
	}
	if d.all && !slices.ContainsFunc(reader, func(key string) bool { return slices.Contains(o.Replicas, key) }) {
		return nip01.PrefixRestricted
	}
	for _, f := range ask.filters {
		if prefix := oracle.Refused(o, reader, f); prefix != "" {
			return prefix
		}
	}
	return ""
}

// judge returns what is wrong with an answer.
func (g *gateRun) judge(reader []string, ask gateAsk, s gate.Surface, events []*nostr.Event, got gateAnswer) string {
	d, o := gateDrivers[s], g.options
	if d.thread {
		return g.judgeThread(s, reader, ask.thread, got)
	}
	if d.live {
		o.Disputes = nil // nothing was agreed yet when it was asked
	}
	if prefix := g.refused(d, o, reader, ask); prefix != "" {
		if !strings.HasPrefix(got.closed, prefix+": ") || len(got.ids) > 0 {
			return fmt.Sprintf("CLOSED %q and %d events, want %s", got.closed, len(got.ids), prefix)
		}
		return ""
	}
	if got.closed != "" {
		return fmt.Sprintf("CLOSED %q, want an answer", got.closed)
	}
	if d.past {
		return d.judge(o, ask, g.visiblePast(reader, ask.past), got)
	}
	var visible []*nostr.Event
	for _, ev := range events {
		if slices.ContainsFunc(ask.filters, func(f nostr.Filter) bool { return oracle.Visible(o, reader, f, ev) }) {
			visible = append(visible, ev)
		}
	}
	return d.judge(o, ask, visible, got)
}

// compareChallenges fails unless there is one challenge before every
// auth-required, always the first one.
func (g *gateRun) compareChallenges(t *testing.T, r *gateConn, i int) {
	t.Helper()
	want := 0
	for s, d := range gateDrivers {
		if !d.socket {
			continue
		}
		for _, ask := range g.asksOn(gate.Surface(s), i) {
			if g.refused(d, g.options, r.pubs(), ask) == nip01.PrefixAuthRequired {
				want++
			}
		}
	}
	if len(r.challenges) != want {
		t.Errorf("%s: %d challenges before %d answers of auth-required", r.name, len(r.challenges), want)
	}
	for _, c := range r.challenges {
		if c != r.Challenge {
			t.Fatalf("%s: the challenge changed", r.name)
		}
	}
	for _, f := range r.Waiting() {
		if !r.isMarkerCopy(f) {
			t.Fatalf("%s: a frame that nobody asked for: %.200s", r.name, f.Raw)
		}
	}
}
