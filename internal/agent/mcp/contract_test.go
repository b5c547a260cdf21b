package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

// fakeContracts fails with an error, or returns one thread.
type fakeContracts struct {
	err    error
	status client.Status
	thread contract.Thread
	said   []contract.Saying
	offers []contract.Offer
}

func (f *fakeContracts) By(string) Contracts { return f }

func (f *fakeContracts) PubKey() string { return strings.Repeat("aa", 32) }

func (f *fakeContracts) New(_ context.Context, o contract.Offer) (contract.Contract, client.Status, error) {
	f.offers = append(f.offers, o)
	return f.thread.Contract, f.status, f.err
}

func (f *fakeContracts) List(context.Context, string) (contract.Listing, client.Status, error) {
	return contract.Listing{Contracts: []contract.Contract{f.thread.Contract}}, f.status, f.err
}

func (f *fakeContracts) Thread(context.Context, string, string) (contract.Thread, client.Status, error) {
	return f.thread, f.status, f.err
}

func (f *fakeContracts) Move(context.Context, string, string, string, string, *nostr.Event) (contract.Contract, client.Status, error) {
	return f.thread.Contract, f.status, f.err
}

func (f *fakeContracts) Say(_ context.Context, _, _ string, s contract.Saying) (contract.Entry, client.Status, error) {
	f.said = append(f.said, s)
	return contract.Entry{}, f.status, f.err
}

// everyContractCall returns a valid call of every contract tool.
func everyContractCall() map[string]args {
	return map[string]args{
		"contract_list": {}, "contract_show": {"contract_id": "x"}, "contract_read": {"contract_id": "x"}, "contract_search": {"contract_id": "x", "query": "x"},
		"contract_summary": {"contract_id": "x"}, "contract_new": {"description": "x"}, "contract_move": {"contract_id": "x", "status": "accepted"},
		"contract_say": {"contract_id": "x", "content": "x"},
	}
}

// TestContractFailures: for every contract tool and every failure the error
// says what to do, and only absence reads as absence.
func TestContractFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	sent := client.Status{Published: []client.PublishStatus{{URL: "wss://one", Err: client.ErrTimeout}}}
	for _, c := range []struct {
		err    error
		status client.Status
		code   string // of tools that read; of those that write if writes is ""
		writes string
	}{
		{err: client.ErrNotFound, code: CodeNotFound},
		{err: client.ErrPartial, status: downStatus(), code: CodePartial},
		{err: client.ErrNoRelay, status: downStatus(), code: CodeUnreachable},
		{err: client.ErrTimeout, code: CodeUnreachable},
		{err: client.ErrMisbehaved, code: CodeUnreachable},
		{err: client.ErrNoRelay, status: sent, code: CodeUnreachable, writes: CodeUnconfirmed},
		{err: &client.ConflictError{Reason: "blocked: contract x is completed"}, code: CodeConflict},
		{err: &client.APIError{Status: 409, Message: "Contract is in 'completed' state."}, code: CodeConflict},
		{err: &client.APIError{Status: 403, Message: "restricted: only the worker"}, code: CodeKeyRefused},
		{err: &client.APIError{Status: 400, Message: "invalid: type"}, code: CodeInvalid},
		{err: &client.APIError{Status: 429}, code: CodeRefused},
		{err: contract.ErrAmbiguous, code: CodeInvalid},
		{err: client.ErrNoAPI, code: CodeNoAPI},
		{err: client.ErrTooLarge, code: CodeTooLarge},
		{err: client.ErrEmpty, code: CodeEmpty},
		{err: &client.PoisonedError{Head: 1}, code: CodeClock},
		{err: errors.New("odd"), code: CodeInternal},
	} {
		p := connect(t, newServer(options{Memory: newFake(), Contracts: &fakeContracts{err: c.err, status: c.status}}))
		for tool, a := range everyContractCall() {
			f, text := p.refused(tool, a)
			want := c.code
			if c.writes != "" && (tool == "contract_new" || tool == "contract_move" || tool == "contract_say") {
				want = c.writes
			}
			if tool == "contract_list" && errors.Is(c.err, client.ErrInvalid) {
				want = CodeInvalid
			}
			if f.Code != want || f.Action == "" || !strings.Contains(text, "What to do: ") {
				t.Errorf("%s with %v: %s, want %s\n%s", tool, c.err, f.Code, want, text)
			}
			if f.Code != CodeNotFound && strings.Contains(text, "There is no such contract") {
				t.Errorf("%s with %v reads as absence: %s", tool, c.err, text)
			}
		}
	}
}

// TestContractSecrets: no contract tool sends what looks like a key unless told
// to.
func TestContractSecrets(t *testing.T) {
	token := "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b"
	fake := &fakeContracts{}
	p := connect(t, newServer(options{Memory: newFake(), Contracts: fake}))
	for tool, a := range map[string]args{
		"contract_new": {"description": "use " + token}, "contract_move": {"contract_id": "x", "status": "accepted", "note": token},
		"contract_say": {"contract_id": "x", "content": "ok", "attachments": []string{"https://example.com/?" + token}},
	} {
		f, text := p.refused(tool, a)
		if f.Code != CodeSecret || strings.Contains(text, token) {
			t.Errorf("%s: %s", tool, text)
		}
		a["allow_secret"] = true
		p.call(tool, a)
	}
	if len(fake.said) != 1 || len(fake.offers) != 1 {
		t.Errorf("%d entries and %d offers were sent", len(fake.said), len(fake.offers))
	}
}

// TestContractTerms: an offer names who decides, by key or by name, and an
// answer shows what is offered, what is agreed, and whether a decision can be
// verified.
func TestContractTerms(t *testing.T) {
	key := strings.Repeat("bb", 32)
	terms := niptemp.Terms{Arbitrator: key, Decider: strings.Repeat("cc", 32), Expirer: strings.Repeat("dd", 32), Deadline: 1_700_000_000}
	fake := &fakeContracts{thread: contract.Thread{
		Contract: contract.Contract{ID: "x", Status: "completed", Offered: terms, Agreed: niptemp.Terms{Arbitrator: key}, Decided: "arbitrator", DecidedEvent: strings.Repeat("ee", 32)},
		Entries:  []contract.Entry{{EntryID: "mem_0", Sealed: true, Unreadable: true, Payload: &contract.SealedPayload{Bytes: 132, SHA256: key}}},
	}}
	p := connect(t, newServer(options{Memory: newFake(), Contracts: fake}))
	npub, err := nip19.EncodePublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p.call("contract_new", args{"description": "x", "arbitrator": " " + npub, "decider": "relay", "expirer": "judge"})
	if len(fake.offers) != 1 || fake.offers[0].Arbitrator != key || fake.offers[0].Decider != contract.Relay || fake.offers[0].Expirer != "judge" {
		t.Errorf("offered: %+v", fake.offers)
	}
	shown := text(p.call("contract_show", args{"contract_id": "x"}))
	for _, want := range []string{`"offered":{"arbitrator":"` + key + `","decider":"cc`, `"deadline":"2023-11-14T22:13:20Z"`, `"agreed":{"arbitrator":"` + key + `"}`, `"decided_event":"ee`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not in %s", want, shown)
		}
	}
	if read := text(p.call("contract_read", args{"contract_id": "x"})); !strings.Contains(read, `"payload":"`+key+`, 132 bytes"`) {
		t.Errorf("a sealed entry: %s", read)
	}
	fake.thread.Contract.DecidedEvent = ""
	if shown := text(p.call("contract_show", args{"contract_id": "x"})); strings.Contains(shown, "decided_event") {
		t.Errorf("what no event says: %s", shown)
	}
}

// TestContractArguments: invalid arguments are reported before any request.
func TestContractArguments(t *testing.T) {
	p := connect(t, newServer(options{Memory: newFake(), Contracts: &fakeContracts{err: errors.New("asked")}}))
	for _, c := range []struct {
		tool string
		args args
	}{
		{"contract_new", args{"description": " "}},
		{"contract_new", args{"description": "x", "deadline": "soon"}},
		{"contract_new", args{"description": "x", "deadline": "2001-01-01T00:00:00Z"}},
		{"contract_show", args{"contract_id": "x", "with": "bob"}},
		{"contract_read", args{"contract_id": "x", "poster": "bob"}},
		{"contract_read", args{"contract_id": "x", "limit": 201}},
		{"contract_read", args{"contract_id": "x", "offset": -1}},
		{"contract_search", args{"contract_id": "x", "query": "  "}},
		{"contract_search", args{"contract_id": "x", "query": strings.Repeat("x", maxQuery+1)}},
		{"contract_say", args{"contract_id": "x"}},
	} {
		if f, text := p.refused(c.tool, c.args); f.Code != CodeInvalid {
			t.Errorf("%s %v: %s", c.tool, c.args, text)
		}
	}
}

// TestContractDoubts: withdrawn and unproven contracts are marked wherever they
// are listed.
func TestContractDoubts(t *testing.T) {
	taken := &contract.Withdrawal{At: 1700000000}
	fake := &fakeContracts{thread: contract.Thread{Contract: contract.Contract{ID: "x", Status: "accepted", Unproven: true}, Entries: []contract.Entry{{EntryID: "mem_1", Withdrawn: taken}},
		Moves: []contract.Move{{To: "accepted", Note: "why", Withdrawn: taken}}}}
	p := connect(t, newServer(options{Memory: newFake(), Contracts: fake}))
	const at = "2023-11-14T22:13:20Z"
	if out := ask[contractListOut](p, "contract_list", args{}); !out.Contracts[0].Unproven {
		t.Errorf("%+v", out)
	}
	if out := ask[contractShowOut](p, "contract_show", args{"contract_id": "x"}); !out.Unproven || out.Moves[0].Withdrawn != at {
		t.Errorf("%+v", out)
	}
	if out := ask[contractReadOut](p, "contract_read", args{"contract_id": "x"}); out.Entries[0].Withdrawn != at {
		t.Errorf("%+v", out)
	}
	if out := ask[contractReadOut](p, "contract_search", args{"contract_id": "x", "query": "why"}); len(out.Moves) != 1 || out.Moves[0].Withdrawn != at {
		t.Errorf("%+v", out)
	}
}

// TestContractPages: the pages of a long thread neither miss nor repeat an
// entry.
func TestContractPages(t *testing.T) {
	fake := &fakeContracts{}
	for i := range 120 {
		fake.thread.Entries = append(fake.thread.Entries, contract.Entry{EntryID: fmt.Sprint(i), Type: "message", Visibility: "shared", Content: strings.Repeat("x", 4000)})
	}
	p := connect(t, newServer(options{Memory: newFake(), Contracts: fake}))
	var seen []string
	offset := 0
	for {
		out := ask[contractReadOut](p, "contract_read", args{"contract_id": "x", "offset": offset, "limit": 100})
		if out.Total != 120 || len(out.Entries)*4000 > maxEntryBytes {
			t.Fatalf("%d of %d entries", len(out.Entries), out.Total)
		}
		for _, e := range out.Entries {
			seen = append(seen, e.EntryID)
		}
		if offset = out.NextOffset; offset == 0 {
			break
		}
	}
	if len(seen) != 120 || seen[0] != "0" || seen[119] != "119" {
		t.Errorf("%d entries: %v", len(seen), seen)
	}
	last := ask[contractReadOut](p, "contract_read", args{"contract_id": "x", "last": true, "limit": 5})
	if len(last.Entries) != 5 || last.Entries[4].EntryID != "119" || last.NextOffset != 0 {
		t.Errorf("the newest are %+v", last)
	}
}
