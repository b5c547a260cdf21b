package gate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// tableOf compiles another table of kinds.
func tableOf(t *testing.T, list []entry, rules ...string) *Table {
	t.Helper()
	table, err := newTable(list, Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// changed returns a changed copy of the table of kinds.
func changed(change func(list []entry) []entry) []entry {
	list := slices.Clone(kinds)
	for i := range list {
		list[i].Except = slices.Clone(list[i].Except)
	}
	return change(list)
}

// TestFingerprintFollowsTheTable: any change, addition or removal of an entry
// changes the fingerprint, so that stores class their events anew. The fields
// are found by reflection: one that is added to an entry must be in the
// fingerprint.
func TestFingerprintFollowsTheTable(t *testing.T) {
	now := tableOf(t, kinds).Fingerprint()
	if again := tableOf(t, kinds).Fingerprint(); again != now {
		t.Fatalf("the same table has the fingerprints %s and %s", now, again)
	}
	turned := changed(func(l []entry) []entry { slices.Reverse(l); return l })
	if got := tableOf(t, turned).Fingerprint(); got != now {
		t.Error("the order of entries is in the fingerprint")
	}
	wants := func(what string, list []entry) {
		t.Helper()
		if got := tableOf(t, list).Fingerprint(); got == now {
			t.Errorf("%s: the fingerprint is the same", what)
		}
	}
	wants("one more", changed(func(l []entry) []entry { return append(l, entry{Number: 64201, Class: Wrap}) }))
	for i, e := range kinds {
		wants("one less", changed(func(l []entry) []entry { return slices.Delete(l, i, i+1) }))
		for f := range reflect.TypeFor[entry]().NumField() {
			name := reflect.TypeFor[entry]().Field(f).Name
			for _, list := range varied(i, f) {
				wants(fmt.Sprintf("kind %d, %s", e.Number, name), list)
			}
		}
	}
}

// varied returns tables in which one field of one entry differs.
func varied(i, field int) (all [][]entry) {
	set := func(v any) {
		all = append(all, changed(func(l []entry) []entry {
			reflect.ValueOf(&l[i]).Elem().Field(field).Set(reflect.ValueOf(v))
			return l
		}))
	}
	switch was := reflect.ValueOf(kinds[i]).Field(field).Interface().(type) {
	case int:
		set(was + 10000)
	case bool:
		set(!was)
	case string:
		set(was + "author")
	case Class:
		set(was%Own + 1)
	case []exception:
		set(append(slices.Clone(was), exception{approves, Approval}, exception{sealed, Sealed}))
		for x := range was {
			other := slices.Clone(was)
			other[x].Class = other[x].Class%Own + 1
			set(other)
			other = slices.Clone(was)
			other[x].Trait = other[x].Trait%approves + 1
			set(other)
		}
	default:
		panic("a field of a type that this test cannot vary")
	}
	return all
}

// TestFingerprintFollowsTraits: the code of a trait is not in the table, so
// that each trait must be present in some samples and absent in others.
func TestFingerprintFollowsTraits(t *testing.T) {
	table := tableOf(t, kinds)
	for _, e := range kinds {
		for _, x := range e.Except {
			var with, without int
			for _, ev := range samples() {
				ev.Kind = e.Number
				got := table.Classify(&ev)
				if ev.Kind == nostr.KindDeletion {
					got = table.Reclassify(&ev, map[bool]Class{true: Open, false: Deletion}[x.Trait == hidesKind])
				}
				if got == x.Class {
					with++
				} else {
					without++
				}
			}
			if with == 0 || without == 0 {
				t.Errorf("kind %d %s: %d samples have the trait, %d do not", e.Number, traitTexts[x.Trait], with, without)
			}
		}
	}
}

// TestOneEntryGatesAKind: everything that depends on kinds follows from one
// entry.
func TestOneEntryGatesAKind(t *testing.T) {
	const kind = 64201
	ev := &nostr.Event{Kind: kind}
	request := &nostr.Event{Kind: nostr.KindDeletion, Tags: nostr.Tags{{"k", "64201"}}}
	filter := nostr.Filter{Kinds: []int{kind}, Authors: []string{"x"}}
	before := tableOf(t, kinds)
	after := tableOf(t, changed(func(l []entry) []entry { return append(l, entry{Number: kind, Class: Wrap}) }))
	if before.Gated(kind) || before.MayGate(kind) || before.Classify(ev) != Open || before.Classify(request) != Open {
		t.Fatal("gated before")
	}
	if !after.Gated(kind) || !after.MayGate(kind) || after.RuleOf(kind) != Wrap {
		t.Error("not gated after")
	}
	if after.Classify(ev) != Wrap || after.Classify(request) != Deletion || after.Reclassify(request, Open) != Deletion {
		t.Error("its events, or requests about them, are open")
	}
	if _, err := after.ScopeFor(NewReader(), filter); err == nil || !strings.HasPrefix(err.Error(), "auth-required: a filter for kind 64201 needs #p") {
		t.Errorf("filter: %v", err)
	}
	if _, err := newTable(append(slices.Clone(kinds), entry{Number: kind, Class: Wrap}), Options{Rules: []string{"64201 author"}}); err == nil {
		t.Error("a rule weakens it")
	}
}

func TestTablesThatCannotBe(t *testing.T) {
	for want, e := range map[string]entry{
		"kind 4 is there twice":                     {Number: nostr.KindEncryptedDirectMessage, Class: Wrap},
		"kind 64201 has no built-in class but open": {Number: 64201},
		"kind 64202 has no built-in class but open": {Number: 64202, Class: 10},
		"kind 64203 has no built-in class but open": {Number: 64203, Class: configured | 1},
		"65536 is no kind":                          {Number: 65536, Class: Wrap},
		"-1 is no kind":                             {Number: -1, Class: Wrap},
	} {
		if _, err := newTable(append(slices.Clone(kinds), e), Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", e, err, want)
		}
	}
}

// traitTexts complete "kind N" in doc.go.
var traitTexts = [...]string{
	sealed:    "whose content is no JSON object",
	hides:     "that names a gated kind, or an event not found open",
	hidesKind: "that names a gated kind, and events found open",
	approves:  "with d = " + ApprovalD,
}

// Subject classifies the event and returns what the second check needs.
func (t *Table) Subject(ev *nostr.Event) Subject {
	return SubjectOf(t.Classify(ev), ev)
}
