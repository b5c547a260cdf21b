package snapshot

import (
	"context"
	"fmt"
	"strings"

	"engramd/internal/protocol/writerlog"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// CheckLogs is the check of a report that Logs makes.
const CheckLogs = "logs"

// maxNamedLogs is how many logs a check names.
const maxNamedLogs = 5

// Logs collects what engrams tell of their writers' logs. About 500 bytes of
// memory are used for each engram.
type Logs struct {
	in    writerlog.Evidence
	shown writerlog.Shown
}

// NewLogs returns an empty one; name says where the engrams are, for messages.
func NewLogs(name string) *Logs {
	return &Logs{in: writerlog.Evidence{Events: map[string]writerlog.Event{}}, shown: writerlog.Shown{URL: name, Whole: true, History: true}}
}

// Add takes an engram whose signature was checked.
func (l *Logs) Add(class bundle.Class, e nipae.Engram) {
	id := l.in.Add(e)
	if class == bundle.Heads {
		l.shown.Heads = append(l.shown.Heads, id)
	} else {
		l.shown.Past = append(l.shown.Past, id)
	}
}

// Evidence is all that was collected, as the answer of one relay that promises
// nothing.
func (l *Logs) Evidence() writerlog.Evidence {
	in := l.in
	in.Relays = []writerlog.Shown{l.shown}
	return in
}

// ReadLogs collects what the engrams of a source tell, as far as the keys read
// them.
func ReadLogs(ctx context.Context, src bundle.Source, agent string, keys bundle.Keys, name string) (*Logs, error) {
	l := NewLogs(name)
	for _, class := range []bundle.Class{bundle.Heads, bundle.History} {
		err := src.Events(ctx, class, func(b []byte) error {
			ev, err := parse(b)
			if err != nil {
				return err
			}
			if e, ok := open(ev, agent, keys); ok {
				l.Add(class, e)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Check says whether all that the logs tell of is there. It is OK only if it is:
// what is not may have been superseded and dropped, or left out, and nothing in a
// bundle tells which.
func (l *Logs) Check() bundle.Check {
	c := bundle.Check{Name: CheckLogs, State: bundle.OK}
	r := writerlog.Judge(l.Evidence())
	if len(r.Logs) == 0 {
		return bundle.Check{Name: CheckLogs, State: bundle.NotChecked, Reason: "no engram that can be read is in a log"}
	}
	late := map[string]int64{}
	var faults []string
	for _, f := range r.Findings {
		switch {
		case f.Kind == writerlog.Late:
			late[f.W]++
		case f.Kind.Fault():
			faults = append(faults, fmt.Sprintf("%s: writer %s n=%d", f.Kind, f.W, f.N))
		}
	}
	var said []string
	for i, s := range r.Logs {
		here := min(s.Events+s.Void-late[s.W], s.N+1)
		whole := here == s.N+1 && s.Complete() && r.Counts[writerlog.Late] <= writerlog.MaxFindings
		if !whole {
			c.State = bundle.NotChecked
		}
		switch {
		case i > maxNamedLogs:
		case i == maxNamedLogs:
			said = append(said, fmt.Sprintf("%d more", len(r.Logs)-i))
		case whole:
			said = append(said, fmt.Sprintf("complete as of writer %s n=%d", s.W, s.N))
		default:
			said = append(said, fmt.Sprintf("writer %s n=%d, and of its %d numbers %d are here or void: the others were superseded and dropped, or left out", s.W, s.N, s.N+1, here))
		}
	}
	c.Reason = strings.Join(said, "; ")
	if len(faults) > 0 {
		c.State, c.Reason = bundle.Failed, strings.Join(faults[:min(len(faults), maxNamedLogs)], "; ")
	}
	return c
}
