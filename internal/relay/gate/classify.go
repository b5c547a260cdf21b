package gate

import (
	"math/bits"

	"github.com/nbd-wtf/go-nostr"
)

// Classify says under which rule the event is read, as far as the event itself
// tells. It depends on the event, on the table of kinds and on [Options.Rules]
// only, so that changing another option needs no work on what is stored. A
// deletion request that names events by their ids is a Deletion here, and
// [Table.ClassifyDeletion] is for who knows what they belonged to.
func (t *Table) Classify(ev *nostr.Event) Class {
	e := t.kinds[ev.Kind]
	if e == nil {
		return Open
	}
	for _, x := range e.Except {
		if t.has(x.Trait, ev) {
			return x.Class
		}
	}
	return e.Class
}

// ClassifyDeletion says under which rule a deletion request (kind 5) is read
// when it is known whether each event that its e tags name was found as an open
// one of its author. An id tells nobody what it belonged to, but who has all
// open events knows that one which is not among them was gated.
func (t *Table) ClassifyDeletion(ev *nostr.Event, foundOpen bool) Class {
	switch {
	case !namesIDs(ev.Tags):
		return t.Classify(ev)
	case !foundOpen:
		return Deletion
	case t.namesGated(ev.Tags):
		return Ruled
	}
	return Open
}

// Reclassify is Classify for an event that is stored under a class already. For
// a deletion request that is also the verdict about the events that it named,
// which are gone: it stands.
func (t *Table) Reclassify(ev *nostr.Event, stored Class) Class {
	if ev.Kind == nostr.KindDeletion {
		return t.ClassifyDeletion(ev, stored == Open || stored == Ruled)
	}
	return t.Classify(ev)
}

// MayGate reports whether there are events of the kind that have another class
// than Open.
func (t *Table) MayGate(kind int) bool { return t.kinds[kind] != nil }

// Gated reports whether events of the kind are for some readers only,
// whatever the options make of their rule. Kinds 5 and 30078, of which single
// events are, count only when a configured rule names them.
func (t *Table) Gated(kind int) bool { return t.RuleOf(kind) != Open }

// RuleOf names the rule that a filter for the kind must satisfy, for metrics:
// Open for a kind of which at most single events are gated.
func (t *Table) RuleOf(kind int) Class {
	if e := t.kinds[kind]; e != nil {
		return e.Class
	}
	return Open
}

// Classes lists the classes that events of the kinds may have, nil being all
// kinds.
func (t *Table) Classes(numbers []int) []Class {
	var set classSet
	if numbers == nil {
		set = setOf(Open)
		for _, e := range t.kinds {
			set |= e.classes()
		}
	}
	for _, kind := range numbers {
		if !t.Gated(kind) {
			set |= setOf(Open)
		}
		if e := t.kinds[kind]; e != nil {
			set |= e.classes()
		}
	}
	list := make([]Class, 0, bits.OnesCount32(uint32(set)))
	for c := range Class(classCount) {
		if set.has(c) {
			list = append(list, c)
		}
	}
	return list
}

// Subject is what the second check needs to know of an event.
type Subject struct {
	Class  Class
	ID     string   // 64 lower-case hex digits
	Author string   // 64 lower-case hex digits
	D      string   // the value of the first d tag, or ""
	P      []string // the values of all p tags
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
