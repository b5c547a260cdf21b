// Package verify asks relays for all that they have of a pair, and judges by it
// whether the writers' logs are whole (internal/protocol/writerlog).
package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/state"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// Memory is the pair's memory; *memory.Memory implements it.
type Memory interface {
	Agent() string
	Owner() string
	Conversation() nipae.ConversationKey
	Shows(ctx context.Context, known func(id string) bool) ([]memory.Shown, error)
}

// Result is what an audit found.
type Result struct {
	writerlog.Report
	Relays     []Relay
	Heads      []*nostr.Event // of all relays
	Events     int            // different ones, of all relays
	Unreadable int            // that are no engrams of this pair, whatever they claim
}

// Relay is what one relay contributed.
type Relay struct {
	client.RelayStatus
	Heads, Past int
	Whole, Kept bool            // it gave all heads, all superseded events
	Promise     *client.History // nil: it promises no history
}

// Run asks and judges. What a relay shows now is kept in the state for the next
// time; without a state (nil) nothing is known of what relays showed once, or of
// what was written here. The error is client.ErrNoRelay when no relay answered,
// with the relays; or the state's.
func Run(ctx context.Context, m Memory, s *state.State, now time.Time) (Result, error) {
	in := writerlog.Evidence{Events: map[string]writerlog.Event{}, Now: now.Unix()}
	var known func(string) bool
	var marks map[string][]writerlog.Mark
	var err error
	if s != nil {
		if known, err = s.Audit.Checked(ctx); err == nil {
			marks, err = s.Audit.Marks(ctx)
		}
		if err != nil {
			return Result{}, fmt.Errorf("what this machine knows of the logs: %w", err)
		}
	}
	if s != nil { // before the relays are asked: what is written meanwhile is not missed
		if in.Own, err = s.Links.Own(ctx); err != nil {
			return Result{}, fmt.Errorf("what this machine wrote: %w", err)
		}
	}
	shown, err := m.Shows(ctx, known)
	out := Result{}
	for _, r := range shown {
		out.Heads = append(out.Heads, r.Heads...)
		out.Relays = append(out.Relays, Relay{r.Status, len(r.Heads), len(r.Past), r.Whole, r.Kept, r.Promise})
	}
	if err != nil {
		return out, err
	}
	g := gathering{m: m, in: &in, unreadable: map[string]bool{}}
	for _, r := range shown {
		in.Relays = append(in.Relays, g.relay(r, marks[r.URL]))
	}
	out.Report = writerlog.Judge(in)
	out.Events, out.Unreadable = len(in.Events), len(g.unreadable)
	if s != nil {
		err = remember(ctx, s, in, known)
	}
	return out, err
}

// gathering makes evidence of events.
type gathering struct {
	m          Memory
	in         *writerlog.Evidence
	unreadable map[string]bool
}

func (g *gathering) relay(r memory.Shown, marks []writerlog.Mark) writerlog.Shown {
	out := writerlog.Shown{URL: r.URL, Whole: r.Whole, History: r.Kept || r.Without, Marks: marks}
	if r.Promise != nil {
		out.Promise = writerlog.Promise{Made: true, Versions: r.Promise.Versions, Days: r.Promise.Days}
	}
	for _, ev := range r.Heads {
		if g.take(ev) {
			out.Heads = append(out.Heads, ev.ID)
		}
	}
	for _, ev := range r.Past {
		if g.take(ev) {
			out.Past = append(out.Past, ev.ID)
		}
	}
	return out
}

// take opens an event, the same one once; false if it is no engram of the pair.
func (g *gathering) take(ev *nostr.Event) bool {
	if _, known := g.in.Events[ev.ID]; known {
		return true
	}
	e, err := nipae.Open(g.m.Conversation(), g.m.Agent(), g.m.Owner(), ev)
	if err != nil {
		g.unreadable[ev.ID] = true
		return false
	}
	g.in.Add(e)
	return true
}

// remember keeps what relays show, and whose signatures were checked. A relay
// that shows less than once keeps the mark that says so.
func remember(ctx context.Context, s *state.State, in writerlog.Evidence, known func(string) bool) error {
	var errs []error
	for _, r := range in.Relays {
		if !r.Whole {
			continue
		}
		errs = append(errs, s.Audit.SetMarks(ctx, r.URL, writerlog.Marks(r, in.Events)))
	}
	var ids []string
	for id := range in.Events {
		if !known(id) {
			ids = append(ids, id)
		}
	}
	if err := errors.Join(append(errs, s.Audit.SetChecked(ctx, ids))...); err != nil {
		return fmt.Errorf("what the relays show is not kept for the next time: %w", err)
	}
	return nil
}
