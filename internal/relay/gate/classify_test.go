package gate_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/gatetest"
	"engramd/nips/niptemp"
)

func TestClassify(t *testing.T) {
	tag := func(s ...string) nostr.Tag { return s }
	approval := tag("d", gate.ApprovalD)
	for _, c := range []struct {
		name  string
		event *nostr.Event
		want  gate.Class
	}{
		{"note", event(1, "hello"), gate.Open},
		{"engram", engram(), gate.Engram},
		{"engram of another shape", event(30174, "hello"), gate.Engram},
		{"plain entry", entry(), gate.Contract},
		{"plain entry after space", event(30090, " \n{}"), gate.Contract},
		{"sealed entry", sealed(), gate.Sealed},
		{"entry that is text", event(30090, "hello"), gate.Sealed},
		{"entry that is empty", event(30090, ""), gate.Sealed},
		{"entry that is an array", event(30090, "[]"), gate.Sealed},
		{"entry that is no JSON", event(30090, `{"type":`), gate.Sealed},
		{"entry with something behind", event(30090, `{} {}`), gate.Sealed},
		{"state", state(), gate.Contract},
		{"state that is sealed", event(30091, sealedContent), gate.Contract},
		{"gift wrap", event(1059, sealedContent), gate.Wrap},
		{"turn metrics", event(44200, sealedContent), gate.Wrap},
		{"direct message", event(4, "x?iv=y"), gate.Direct},
		{"what an agent does", event(24200, sealedContent), gate.Direct},
		{"an agent's settings", event(30179, sealedContent), gate.Own},
		{"a reminder", event(30300, sealedContent), gate.Own},
		{"deletion of a reminder", event(5, "", tag("a", "30300:"+agent+":x")), gate.Deletion},

		{"gift wrap that passes", event(21059, sealedContent), gate.Wrap},
		{"deletion by id", event(5, "", tag("e", someID)), gate.Deletion},
		{"deletion by what is no id", event(5, "", tag("e", "")), gate.Deletion},
		{"deletion of a note by id", event(5, "", tag("e", someID), tag("k", "1")), gate.Deletion},
		{"deletion of a note", event(5, "", tag("k", "1")), gate.Open},
		{"deletion of an engram", event(5, "", tag("e", someID), tag("k", "30174")), gate.Deletion},
		{"deletion of several", event(5, "", tag("k", "1"), tag("k", "4")), gate.Deletion},
		{"deletion of a wrap", event(5, "", tag("k", "1059")), gate.Deletion},
		{"deletion by address", event(5, "", tag("a", "30174:"+agent+":"+otherID)), gate.Deletion},
		{"deletion of a public contract's entry", event(5, "", tag("a", "30090:"+agent+":x")), gate.Deletion},
		{"deletion of an article", event(5, "", tag("a", "30023:"+agent+":30174")), gate.Open},
		{"deletion of half an address", event(5, "", tag("a", "30174")), gate.Deletion},
		{"deletion with careless numbers", event(5, "", tag("k", " 030174 ")), gate.Deletion},
		{"deletion with no number", event(5, "", tag("k", "engram"), tag("a", ":::"), tag("k", "")), gate.Open},
		{"deletion with a number too great", event(5, "", tag("k", "99999999999999999999")), gate.Open},
		{"deletion with bare tags", event(5, "", tag("k"), tag("a"), tag("e")), gate.Open},
		{"deletion with the kind elsewhere", event(5, "30174", tag("k", "1", "30174"), tag("q", "30174")), gate.Open},
		{"deletion of a ruled kind", event(5, "", tag("k", "4550")), gate.Deletion},
		{"deletion of approvals", event(5, "", tag("a", "30078:"+owner+":"+gate.ApprovalD)), gate.Deletion},

		{"approvals", event(30078, "", approval), gate.Approval},
		{"approvals by another kind", event(30023, "", approval), gate.Open},
		{"approvals as a second d", event(30078, "", tag("d", "x"), approval), 16 | 1},

		{"ruled: author", event(30078, "", tag("d", "settings")), 16 | 1},
		{"ruled: author, p, ids", event(4550, ""), 16 | 1 | 2 | 4},
		{"ruled: p, d", event(30500, "", tag("d", "x")), 16 | 2 | 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Only rules may decide: the other options are at their weakest.
			o := ruled
			o.Contracts, o.Wildcard = "public", "exclude"
			if got := mustTable(t, o).Classify(c.event); got != c.want {
				t.Errorf("class %v (%d), want %v (%d)", got, got, c.want, c.want)
			}
		})
	}
	without := mustTable(t, none)
	if got := without.Classify(event(5, "", tag("k", "4550"))); got != gate.Open {
		t.Errorf("a deletion of an open kind is %v", got)
	}
	if got := without.Classify(event(30078, "", tag("d", "settings"))); got != gate.Open {
		t.Errorf("application data without a rule are %v", got)
	}
	if got := without.Classify(event(30078, "", approval)); got != gate.Approval {
		t.Errorf("approvals without a rule are %v", got)
	}
}

func TestClassString(t *testing.T) {
	for class, want := range map[gate.Class]string{
		gate.Open: "open", gate.Engram: "engram", gate.Contract: "contract", gate.Sealed: "sealed",
		gate.Wrap: "wrap", gate.Direct: "direct", gate.Deletion: "deletion", gate.Approval: "approval",
		16 | 1: "configured", gate.Ruled: "deletion", gate.Own: "own", 31: "configured", 10: "unknown", 15: "unknown", 32: "unknown", 255: "unknown",
	} {
		if got := class.String(); got != want {
			t.Errorf("class %d is %q, want %q", class, got, want)
		}
	}
}

// TestClassNumbers: the numbers are stored in databases and must not change.
func TestClassNumbers(t *testing.T) {
	for i, class := range []gate.Class{
		gate.Open, gate.Engram, gate.Contract, gate.Sealed, gate.Wrap, gate.Direct, gate.Deletion, gate.Approval,
		gate.Ruled, gate.Own,
	} {
		if int(class) != i {
			t.Errorf("%v has the number %d, want %d", class, class, i)
		}
	}
}

// TestClassAgreesWithShape: a sealed entry by niptemp's rules is Sealed, and an
// entry that it accepts in plain text is Contract.
func TestClassAgreesWithShape(t *testing.T) {
	table := mustTable(t, none)
	g := gatetest.New(11, 4)
	g.Unsigned = true
	for range 300 {
		ev := g.EventOf(niptemp.KindEntry)
		if err := niptemp.CheckEntry(ev); err != nil {
			t.Fatalf("%v: %v", ev, err)
		}
		want := gate.Contract
		if niptemp.IsSealed(ev) {
			want = gate.Sealed
		}
		if got := table.Classify(ev); got != want {
			t.Errorf("%v: class %v, want %v", ev, got, want)
		}
	}
}

// TestClassifyDeletion: where a request names ids, the events found decide;
// otherwise the kinds that the request names do. Classifying it again keeps the
// verdict under any rules.
func TestClassifyDeletion(t *testing.T) {
	byID, note := nostr.Tag{"e", someID}, nostr.Tag{"k", "1"}
	ruledKind, engramKind := nostr.Tag{"k", "4550"}, nostr.Tag{"k", "30174"}
	without, with := mustTable(t, none), mustTable(t, ruled)
	for _, c := range []struct {
		name                          string
		tags                          nostr.Tags
		found, not, foundRuled, ruled gate.Class
	}{
		{"by id", nostr.Tags{byID}, gate.Open, gate.Deletion, gate.Open, gate.Deletion},
		{"by id, a note", nostr.Tags{byID, note}, gate.Open, gate.Deletion, gate.Open, gate.Deletion},
		{"by id, an engram", nostr.Tags{byID, engramKind}, gate.Ruled, gate.Deletion, gate.Ruled, gate.Deletion},
		{"by id, a ruled kind", nostr.Tags{ruledKind, byID}, gate.Open, gate.Deletion, gate.Ruled, gate.Deletion},
		{"of notes", nostr.Tags{note}, gate.Open, gate.Open, gate.Open, gate.Open},
		{"of engrams", nostr.Tags{engramKind}, gate.Deletion, gate.Deletion, gate.Deletion, gate.Deletion},
		{"of a ruled kind", nostr.Tags{ruledKind}, gate.Open, gate.Open, gate.Deletion, gate.Deletion},
	} {
		ev := event(5, "", c.tags...)
		for _, step := range []struct {
			table *gate.Table
			found bool
			want  gate.Class
		}{{without, true, c.found}, {without, false, c.not}, {with, true, c.foundRuled}, {with, false, c.ruled}} {
			got := step.table.ClassifyDeletion(ev, step.found)
			if got != step.want {
				t.Errorf("%s, found %v: class %d, want %d", c.name, step.found, got, step.want)
			}
			for _, again := range []*gate.Table{with, without, step.table} {
				got = again.Reclassify(ev, got)
			}
			if got != step.want {
				t.Errorf("%s, found %v: class %d after others, want %d", c.name, step.found, got, step.want)
			}
		}
	}
}
