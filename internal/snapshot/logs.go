package snapshot

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"engramd/internal/chain"
	"engramd/nips/nipae"
)

// Logs judges the writers' logs in a bundle by what is in it. It is given the
// engrams that verifying reads (bundle.VerifyOptions.Engram).
type Logs struct {
	of map[string]*chain.Evidence // by owner
}

// Log is what a bundle proves of one writer's log.
type Log struct {
	Owner    string `json:"owner"`
	Writer   string `json:"writer"`
	N        int64  `json:"n"` // its last number that the bundle tells of
	Root     string `json:"root"`
	Size     int64  `json:"size"` // numbers from 0 on whose ids are known; Root is over them
	Complete bool   `json:"complete"`
	Events   int64  `json:"events"` // that are in the bundle
	// Faults are what cannot be in an honest log: two events of one number, a root
	// that is not that of the numbers before it.
	Faults []string `json:"faults,omitempty"`
}

// Add takes one engram whose signature was checked.
func (l *Logs) Add(e nipae.Engram) {
	owner := ""
	if tag := e.Event.Tags.Find("p"); len(tag) > 1 {
		owner = tag[1]
	}
	if l.of == nil {
		l.of = map[string]*chain.Evidence{}
	}
	in := l.of[owner]
	if in == nil {
		in = &chain.Evidence{Events: map[string]chain.Event{}, Relays: []chain.Shown{{Whole: true, History: true}}}
		l.of[owner] = in
	}
	in.Add(e)
	in.Relays[0].Past = append(in.Relays[0].Past, e.Event.ID)
}

// Judge returns the logs, of each owner the one with the newest event first.
func (l *Logs) Judge() []Log {
	logs := []Log{}
	for _, owner := range slices.Sorted(maps.Keys(l.of)) {
		report := chain.Judge(*l.of[owner])
		for _, s := range report.Logs {
			one := Log{Owner: owner, Writer: s.W, N: s.N, Root: fmt.Sprintf("%x", s.Root[:]), Size: s.Size, Complete: s.Complete(), Events: s.Events}
			for _, f := range report.Findings {
				if f.W == s.W && f.Kind.Fault() {
					one.Faults = append(one.Faults, fmt.Sprintf("%s: n=%d", f.Kind, f.N))
				}
			}
			logs = append(logs, one)
		}
	}
	return logs
}

// WriteLogs says for a person how far each log is complete.
func WriteLogs(w io.Writer, logs []Log) error {
	for _, l := range logs {
		line := fmt.Sprintf("complete as of writer %s n=%d", l.Writer, l.N)
		if !l.Complete {
			line = fmt.Sprintf("writer %s n=%d: every id known for %d numbers, %d versions in the snapshot", l.Writer, l.N, l.Size, l.Events)
		}
		for _, f := range l.Faults {
			line += "; " + f
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
