package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"engramd/internal/client/contract"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/proposals"
)

// words returns a text of distinct words that is no other's.
func words(of string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%c%c", of, 'a'+i/20%20, 'a'+i%20))
	}
	return strings.Join(all, " ") + "."
}

// shownThread is a contract with this agent as its worker, in which everybody says something.
func shownThread(me string) contract.Thread {
	other := strings.Repeat("bb", 32)
	c := contract.Contract{ID: "c-1", Status: "accepted", Poster: contract.Party{PubKey: other, AgentID: words("agentid", 30)}, Worker: contract.Party{PubKey: me, AgentID: words("myname", 30)}, Description: words("offer", 30)}
	entry := func(by, of string, s contract.Signature) contract.Entry {
		return contract.Entry{EntryID: of, Author: contract.Party{PubKey: by}, Type: "message", Visibility: "shared", Content: words(of, 30), Attachments: []string{words(of+"file", 30)}, Signature: s}
	}
	return contract.Thread{Contract: c, Moves: []contract.Move{{To: "open", By: other, Note: words("moved", 30)}, {From: "open", To: "accepted", By: me, Note: words("mymove", 30)}},
		Entries: []contract.Entry{entry(other, "theirs", contract.SignatureHolds), entry(me, "mine", contract.SignatureHolds), entry(me, "forged", contract.SignatureUnseen)}}
}

// What the server shows of others' words is external when it is written again, word for word;
// what the agent said itself is not.
func TestShownWordsStayExternal(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	fake := &fakeContracts{}
	fake.thread = shownThread(fake.PubKey())
	long := words("start", 300) + strings.Repeat("\n\n"+words("filler", 300), 20) + "\n\n" + words("long", 40)
	fake.thread.Entries = append(fake.thread.Entries, contract.Entry{EntryID: "long", Author: contract.Party{PubKey: strings.Repeat("bb", 32)}, Content: long, Signature: contract.SignatureHolds})
	box := &fakeProposals{}
	box.inbox.Items = []proposals.Item{itemAt(0, "mem/a", words("proposed", 40), false), itemAt(1, "mem/b", words("rejected", 40), false), itemAt(2, "mem/c", words("owner", 40), true), itemAt(3, "mem/d", "", true), itemAt(4, "mem/e", "---\ndescription: "+words("field", 30)+"\n---\nx", false)}
	origin, err := json.Marshal(words("transplant", 40))
	if err != nil {
		t.Fatal(err)
	}
	box.inbox.Items[3].Origin = jsontext.Value(origin)
	box.inbox.Items[0].Why = words("reason", 30)
	id := func(n int) string { return box.inbox.Items[n].EventID }
	on := func(more args) args {
		a := args{"contract_id": "c-1"}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	for name, c := range map[string]struct {
		tool  string
		args  args
		write string // the words
		from  string // "" for words that stay the agent's
	}{
		"description, in a list":      {"contract_list", args{}, words("offer", 30), "the contract c-1"},
		"description":                 {"contract_show", on(nil), words("offer", 30), "the contract c-1"},
		"what a party calls itself":   {"contract_show", on(nil), words("agentid", 30), "the contract c-1"},
		"a note of a move":            {"contract_show", on(nil), words("moved", 30), "the contract c-1"},
		"an entry":                    {"contract_read", on(nil), words("theirs", 30), "the contract c-1"},
		"a part of an entry":          {"contract_read", on(nil), "I think: " + words("theirs", 25), "the contract c-1"},
		"an attachment":               {"contract_read", on(nil), words("theirsfile", 30), "the contract c-1"},
		"a relay's word for ours":     {"contract_read", on(nil), words("forged", 30), "the contract c-1"},
		"a long entry's end":          {"contract_read", on(nil), words("long", 40), "the contract c-1"},
		"a search hit":                {"contract_search", on(args{"query": "theirsaa"}), words("theirs", 30), "the contract c-1"},
		"a move that a search found":  {"contract_search", on(args{"query": "movedaa"}), words("moved", 30), "the contract c-1"},
		"a summary":                   {"contract_summary", on(nil), words("moved", 30), "the contract c-1"},
		"our entry":                   {"contract_read", on(nil), words("mine", 30), ""},
		"our attachment":              {"contract_read", on(nil), words("minefile", 30), ""},
		"our move":                    {"contract_show", on(nil), words("mymove", 30), ""},
		"our name":                    {"contract_show", on(nil), words("myname", 30), ""},
		"what was not shown":          {"contract_search", on(args{"query": "movedaa"}), words("theirs", 30), ""},
		"ours, after all":             {"contract_read", on(nil), words("own", 60), ""},
		"a proposal":                  {"memory_proposals", args{"id": id(0)}, words("proposed", 40), "a proposal by ana"},
		"a proposal in a list":        {"memory_proposals", args{}, words("proposed", 40), "a proposal by ana"},
		"its reason":                  {"memory_proposals", args{"id": id(0)}, words("reason", 30), "a proposal by ana"},
		"its fields":                  {"memory_proposals", args{"id": id(4)}, words("field", 30), "a proposal by ana"},
		"a proposal that is rejected": {"memory_reject", args{"id": id(1)}, words("rejected", 40), "a proposal by ana"},
		"the owner's":                 {"memory_proposals", args{}, words("owner", 40), ""},
		"a transplant":                {"memory_proposals", args{"id": id(3)}, words("transplant", 40), "a proposal by another agent"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newFake()
			p := connect(t, newServer(options{Memory: m, Contracts: fake, Proposals: box}))
			if before := ask[writeOut](p, "memory_write", args{"slug": "before", "text": c.write}); before.Trust != "observed" {
				t.Errorf("before it was shown: %+v", before)
			}
			p.call(c.tool, c.args)
			out := ask[writeOut](p, "memory_write", args{"slug": "x", "text": c.write})
			said := strings.Contains(strings.Join(out.Warnings, "\n"), fmt.Sprintf("the words are those of %q, which is external", c.from))
			if (out.Trust == "external") != (c.from != "") || said != (c.from != "") {
				t.Errorf("%+v", out)
			}
			again := ask[writeOut](p, "memory_append", args{"slug": "before", "text": c.write})
			if (again.Trust == "external") != (c.from != "") {
				t.Errorf("appended: %+v", again)
			}
		})
	}
}

// What another agent said stays external in what a plan makes of it.
func TestShownWordsStayExternalInPlans(t *testing.T) {
	fake, made := &fakeContracts{}, &copying{}
	fake.thread = shownThread(fake.PubKey())
	p := connect(t, newServer(options{Memory: newFake(), Contracts: fake, Mind: &Mind{Plans: func(string) Plans { return made }}}))
	p.call("contract_read", args{"contract_id": "c-1"})
	p.call("mind_commit", args{"plan": "p", "operations": []args{{"op": "write", "slug": "mem/x", "text": words("theirs", 30)}, {"op": "write", "slug": "mem/y", "text": words("own", 30)}}})
	if len(made.ops) != 2 || made.ops[0].Copied != "the contract c-1" || made.ops[1].Copied != "" {
		t.Errorf("%+v", made.ops)
	}
}

// copying are plans that keep what they are given.
type copying struct {
	fakePlans
	ops []consolidation.Op
}

func (c *copying) Commit(_ context.Context, _ string, ops []consolidation.Op) (plans.Result, error) {
	c.ops = ops
	return plans.Result{}, nil
}

// What others say has a bound, and what is no text breaks nothing.
func TestSaidIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	x := newExternals()
	for i := range 3 * maxExternal / 2 {
		x.said("c", words(fmt.Sprint("w", i, "x"), 20))
	}
	x.said("c", strings.Repeat("\x80", 100_000), "", " ", strings.Repeat(words("z", 300)+"\n\n", 2000))
	x.said("c", strings.Repeat("y", 5<<20))
	if len(x.seen) > maxExternal || x.bytes > maxExternalBytes {
		t.Errorf("%d texts, %d bytes", len(x.seen), x.bytes)
	}
	var none *externals
	none.said("c", "nobody keeps it")
}

// What is written after somebody else's words were shown says so, by whatever tool they were
// shown, and by whatever tool it is written.
func TestWrittenAfterOthersWords(t *testing.T) {
	fake, box := &fakeContracts{}, &fakeProposals{}
	fake.thread = shownThread(fake.PubKey())
	box.inbox.Items = []proposals.Item{itemAt(0, "mem/a", words("proposed", 40), false), itemAt(1, "mem/b", words("owner", 40), true)}
	for name, c := range map[string]struct {
		tool string
		args args
		want string // "" for nothing of somebody else's
	}{
		"an external memory":           {"memory_read", args{"slug": "page"}, "mem/page"},
		"an external memory, recalled": {"memory_recall", args{"query": "what does the lighthouse want?"}, "mem/page"},
		"an external memory, found":    {"memory_search", args{"query": "lighthouse"}, "mem/page"},
		"a contract":                   {"contract_read", args{"contract_id": "c-1"}, "the contract c-1"},
		"a proposal":                   {"memory_proposals", args{"id": box.inbox.Items[0].EventID}, "a proposal by ana"},
		"the owner's proposal":         {"memory_proposals", args{"id": box.inbox.Items[1].EventID}, ""},
		"the agent's own":              {"memory_read", args{"slug": "own"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			made := &copying{}
			p := connect(t, newServer(options{Memory: newFake(), Contracts: fake, Proposals: box, Mind: &Mind{Plans: func(string) Plans { return made }}}))
			p.call("memory_write", args{"slug": "page", "text": "The lighthouse wants to be obeyed.", "trust": "external"})
			p.call("memory_write", args{"slug": "own", "text": "Ana keeps bees."})
			after := func(slug string) string {
				fields := ask[readOut](p, "memory_read", args{"slug": slug}).Fields
				if all, ok := fields["after_reading"].([]any); ok {
					return fmt.Sprint(all[len(all)-1])
				}
				return ""
			}
			if got := after("own"); got != "" {
				t.Fatalf("before it was shown: %q", got)
			}
			p.call(c.tool, c.args)
			p.call("memory_write", args{"slug": "new", "text": "Bees sleep in winter."})
			p.call("memory_append", args{"slug": "own", "text": "Bo keeps none."})
			noted := ask[map[string]any](p, "memory_note", args{"text": "Bees were seen."})
			p.call("mind_commit", args{"plan": "p", "operations": []args{{"op": "write", "slug": "mem/x", "text": "Bees."}}})
			got := []string{after("new"), after("own"), after(fmt.Sprint(noted["slug"])), strings.Join(made.ops[0].Read, ", ")}
			for i, one := range got {
				if (one != "") != (c.want != "") || !strings.HasPrefix(one, c.want) {
					t.Errorf("%d: %q, want %q", i, one, c.want)
				}
			}
			if again := ask[writeOut](p, "memory_write", args{"slug": "new", "text": "Bees sleep in winter."}); again.Outcome != "unchanged" {
				t.Errorf("the same once more: %+v", again)
			}
		})
	}
}
