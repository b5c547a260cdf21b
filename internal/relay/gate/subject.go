package gate

import "github.com/nbd-wtf/go-nostr"

// Subject is what the second check needs to know of an event.
type Subject struct {
	Class  Class
	ID     string   // 64 lower-case hex digits
	Author string   // 64 lower-case hex digits
	D      string   // the value of the first d tag, or ""
	P      []string // the values of all p tags
}

// Subject classifies the event and returns what the second check needs.
func (t *Table) Subject(ev *nostr.Event) Subject {
	return SubjectOf(t.Classify(ev), ev)
}

// SubjectOf returns what the second check needs of an event whose class is
// known. For an open one that is the class alone.
func SubjectOf(c Class, ev *nostr.Event) Subject {
	if c == Open {
		return Subject{}
	}
	e := Subject{Class: c, ID: ev.ID, Author: ev.PubKey, D: ev.Tags.GetD()}
	for _, tag := range ev.Tags {
		if len(tag) >= 2 && tag[0] == "p" {
			e.P = append(e.P, tag[1])
		}
	}
	return e
}
