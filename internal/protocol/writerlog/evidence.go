package writerlog

import (
	"strings"

	"engramd/nips/nipae"
)

// Evidence is what there is to judge logs by: what relays showed, and what the
// writer's own state knows. Signatures and envelopes have been checked.
type Evidence struct {
	Relays []Shown
	Events map[string]Event // by id
	Units  []Unit
	Ends   map[string]int64 // when what others let go expires, by id
	Own    map[string][]Own // by log, of number 0 on; nil: the state is not known
	Now    int64            // Unix seconds
}

// Add takes an engram whose signature was checked: its link, and if it is a log
// unit or an ending, the ids that it keeps. It returns the event's id. Which relays show it is
// to be said beside that.
func (in *Evidence) Add(e nipae.Engram) string {
	// An event's strings may be parts of a page, which must not stay with them.
	at := Event{ID: strings.Clone(e.Event.ID), D: strings.Clone(e.Event.Tags.GetD()), At: e.CreatedAt(), Slug: strings.Clone(string(e.Slug()))}
	at.Expires, _ = nipae.Expiration(e.Event)
	if link, ok := Of(e); ok {
		at.Link = &link
	}
	if u, err := UnitOf(e); err == nil {
		in.Units = append(in.Units, u)
	}
	if u, err := endingOf(e); err == nil {
		in.end(u)
	}
	in.Events[at.ID] = at
	return at.ID
}

// Shown is what one relay showed of a pair.
type Shown struct {
	URL   string
	Heads []string // ids
	Past  []string // ids of superseded events
	// Whole says that it showed all heads that it has, and History all superseded
	// events that it ever shows.
	Whole, History bool
	Promise        Promise
	Marks          []Mark // what it showed once
}

// Promise is how much of the history a relay says that it keeps. The zero
// Promise is none.
type Promise struct {
	Made     bool
	Versions int64 // superseded events for each address; 0: all
	Days     int64 // that they are kept; 0: for ever
}

// Event is an event of the pair.
type Event struct {
	ID   string
	D    string // its address
	At   int64  // created_at, in Unix seconds
	Slug string
	Link *Link // nil: it is in no log
	// Expires is when relays may drop it, in Unix seconds; 0 for never.
	Expires int64
}

// Own is what the writer's state knows of a number.
type Own struct {
	ID     string
	D      string   // its event's address; "": not known
	At     int64    // created_at of its event
	Stored bool     // a relay said that it has it
	Void   bool     // every relay said that it has it not
	Ends   int64    // when it expires, or what superseded it; 0 for never
	Took   []string // the URLs of relays that said that they took it; none: it is not known which
}

// Mark is the greatest number of a log that a relay has shown as a head.
type Mark struct {
	W  string
	N  int64
	ID string
	D  string
	At int64
}

// Kind is what a finding is.
type Kind string

// The kinds. Dropped, Expired, Unlogged, Behind and Late are no faults.
const (
	Missing    Kind = "missing"     // its id is known, it is nowhere, and a relay that took it promises to keep it; where it is not known which took it, all do
	Dropped    Kind = "dropped"     // its id is known, it is nowhere, and no such promise was made
	Expired    Kind = "expired"     // its time is over (NIP-40), or that of what superseded it
	Unlogged   Kind = "unlogged"    // nothing tells its id
	Unsure     Kind = "unsure"      // its id is known, and it may be where nobody answered in full, nobody asks any more, or it was never stored
	Forked     Kind = "forked"      // two events have one number
	Rewritten  Kind = "rewritten"   // the root or prev of an event is not that of the log before it
	RolledBack Kind = "rolled-back" // a relay shows less than it once showed
	Behind     Kind = "behind"      // a relay shows less than others
	Late       Kind = "late"        // it was named void, and is there
)

// Fault reports whether findings of the kind say that somebody lies or has lost
// something.
func (k Kind) Fault() bool {
	return k == Missing || k == Forked || k == Rewritten || k == RolledBack
}

// Finding is one thing that is to be said.
type Finding struct {
	Kind   Kind
	W      string
	N      int64
	IDs    []string // of the number, if any is known
	Slug   string   // "" where it is not known
	Relay  string   // the one that it is about; "" for all
	Detail string   // what else there is to say, in words
}

// State is what is known of one log.
type State struct {
	W       string
	N       int64 // the last number that is known; -1: none
	Size    int64 // numbers whose ids are known without a gap from 0 on
	Root    Hash  // the head of the tree over these
	At      int64 // created_at of the newest of its events that is there
	Events  int64 // that are there
	Void    int64
	Missing int64 // Missing and Unsure
	Checked int64 // roots that could be checked
}

// Complete reports whether every number up to the last is there, or void, or was
// dropped by relays that may.
func (s State) Complete() bool { return s.Missing == 0 && s.Size == s.N+1 }

// Report is a judgement.
type Report struct {
	Logs      []State // by their newest event, the newest first
	Findings  []Finding
	Counts    map[Kind]int
	Unchained int // events in no log
}

// Faults counts the findings that are faults.
func (r Report) Faults() (n int) {
	for kind, count := range r.Counts {
		if kind.Fault() {
			n += count
		}
	}
	return n
}
