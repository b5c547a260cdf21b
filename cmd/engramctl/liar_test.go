package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/clienttest"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/protocol/wire"
)

// liar is a relay that took everything, and shows less of it.
type liar struct {
	clienttest.Hoard
	hides []string // addresses, to who asks for them by name
}

func (l *liar) serve(c *clienttest.Conn) {
	for f, ok := c.Read(); ok; f, ok = c.Read() {
		l.says(c, f)
	}
}

func (l *liar) says(c *clienttest.Conn, f wire.Frame) {
	switch hidden := func(d string) bool { return slices.Contains(l.hides, d) }; {
	case f.Label == wire.LabelReq && slices.ContainsFunc(f.Filters[0].Tags["d"], hidden):
		c.Send(wire.AppendEOSE(nil, f.SubID))
	case f.Label == wire.LabelCount:
		found, _ := l.Find(f.Filters[0])
		c.Send(wire.AppendCount(nil, f.SubID, int64(len(found))))
	default:
		l.Answer(c, f)
	}
}

// TestLiarIsSeenAtOnce has a relay drop, roll back, hide or lose what it took. The first
// that reads afterwards says so, whatever it is, and has what was written.
func TestLiarIsSeenAtOnce(t *testing.T) {
	agent, now := relaytest.NewKey(690), time.Now()
	notes, core := relaytest.Address(agent, relaytest.Owner().Pub, "mem/notes"), relaytest.Address(agent, relaytest.Owner().Pub, "core")
	since := func(ev *nostr.Event) bool { return int64(ev.CreatedAt) > now.Add(-firstAgo).Unix() }
	for name, lie := range map[string]func(l *liar){
		"drops the newest": func(l *liar) {
			l.Events = slices.DeleteFunc(l.Events, func(ev *nostr.Event) bool {
				return since(ev) && (ev.Tags.GetD() == notes || ev.Tags.GetD() == core)
			})
		},
		"rolls back": func(l *liar) { l.Events = slices.DeleteFunc(l.Events, since) },
		"drops two memories": func(l *liar) {
			l.Events = slices.DeleteFunc(l.Events, func(ev *nostr.Event) bool { return ev.Tags.GetD() == notes || ev.Tags.GetD() == core })
		},
		"hides":    func(l *liar) { l.hides = []string{notes, core} },
		"is empty": func(l *liar) { l.Events = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &liar{}
			m := &machine{hookRig: newMachineOf(t, agent, clienttest.Start(t, &clienttest.Fake{Serve: l.serve})), key: agent}
			for _, slug := range []string{"core", "mem/notes", "mem/other"} {
				m.sets(now.Add(-firstAgo), slug, firstText(slug))
				m.sets(now.Add(-newestAgo), slug, newestText(slug))
			}
			if got := m.run(nil, "recall", newestWord); !strings.Contains(got.stdout, newestWord) {
				t.Fatalf("%+v", got)
			}
			m.keepsThis()
			lie(l)
			for _, q := range firstReads {
				m.again()
				got := m.run(strings.NewReader(`{"session_id":"s","cwd":"/","prompt":"What colour is the gate of notes?"}`), q...)
				said := got.stdout + got.stderr
				if got.code != 0 || !strings.Contains(got.stdout, newestWord) || strings.Contains(got.stdout, firstWord) || neverSaid.MatchString(said) {
					t.Errorf("%v: %+v", q, got)
				}
				// A prompt is answered from what is here.
				if !slices.Contains(q, "prompt") && !slices.Contains(q, "recall") && !strings.Contains(said, lineSaid) {
					t.Errorf("%v does not say that the relay shows less: %+v", q, got)
				}
			}
		})
	}
}

var firstReads = [][]string{{"mem", "get", "notes"}, {"core"}, {"recall", "the gate of notes"}, {"wake"}, {"hook", "session-start"}, {"hook", "prompt"}}
