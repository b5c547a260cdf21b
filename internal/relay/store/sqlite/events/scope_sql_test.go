package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/gatetest"
	"engramd/internal/relay/store"
)

// noScope are the exported functions and methods that need no scope, with the
// reason. A new one belongs here only if it cannot tell anybody on the network
// of an event.
var noScope = map[string]string{
	"admin.NewWriter": "writes", "contracts.NewWriter": "writes", "identities.NewWriter": "writes", "outbox.NewWriter": "writes",
	"admin.NewStore": "its methods are looked at", "contracts.NewStore": "its methods are looked at", "identities.NewStore": "its methods are looked at", "outbox.NewStore": "its methods are looked at",
	"contracts.Check": "for the operator's report", "identities.Check": "for the operator's report",
	"Open": "opens", "Store.Older": "a number of the format",
	"Store.MaxBytes": "a bound", "Store.Close": "closes", "Store.SetOptions": "options", "Store.CheckTable": "options",
	"Store.Begin": "writes", "Store.Put": "writes", "Store.Sweep": "removes what has expired",
	"Store.Backup": "the operator's copy of the file", "Store.Check": "the operator's report, without ids or keys",
	"Store.KnownSince":  "a yes or no for the relay itself about who is charged with work",
	"Store.Approved":    "a yes or no for the write policy about a list that the policy enforces",
	"Store.HeadExpired": "a yes or no for the write policy about what the event's author has stored",
	"Store.Follow":      "writes", "Store.FollowedTo": "a number of another relay's",
	"Store.SchemaVersion":     "a number of the format",
	"Store.BeginRestore":      "writes",
	"Store.ReleaseQuarantine": "writes", "Store.DropQuarantine": "writes", "Store.Restores": "a number of restores", "Store.RestoredSince": "a yes or no about restores",
	"Store.LastSeq": "a number of all writes", "Store.QueueLen": "a number of waiting writes", "Store.Sizes": "bytes of files", "Store.Reads": "numbers of reads",
	"Store.Recent": "times and plans, nothing of what was asked or found", "Store.Space": "sizes of the file",
	"Store.Ready": "yes or no", "Store.SearchEnabled": "yes or no",
	"Store.Administer": "writes, and answers the same whether a banned event was there", "Store.AdminLists": "what managing keys entered",
	"Store.AdminAudit": "calls of managing keys, for the operator", "Store.AdminUsed": "ids of NIP-98 events, which are not stored as events",
	"Store.UseCalls": "writes", "Store.UsedCalls": "ids of NIP-98 events, which are not stored as events",
	"Store.ContractPair": contractState, "Store.LastState": "a time for the author himself", "Store.ContractSalt": "a salt for its poster himself", "Store.ContractsUnseen": "a number, for the count of guesses, and which ids a key has a part in, for that key", "Store.ContractBetween": contractState, "Store.Contracts": contractState,
	"Store.ContractDecision": contractState, "Store.DueContracts": contractState, "Store.NextDue": contractState,
	"Store.ContractStates": contractState, "Store.ThreadPage": threadReader, "Store.ThreadNext": threadReader,
	"Store.ThreadEntry": threadReader, "Store.ThreadGroups": threadReader,
	"Store.WithArrivals":  "adds to versions that History found under a scope",
	"Store.ContractMoves": "states of one pair, for the service that knows what its reader may see of them",
	"Store.ContractTalk":  contractState, "Store.ContractTalks": contractState,
	"Store.ThreadOrder": threadReader, "Store.Withdrawal": "a request that is about the contract alone, for those who may read all of it", "Store.EntryTaken": "a yes or no for a party of the thread",
	"Store.PlaceEntry": "numbers for the entry's author", "Store.WaitingEntries": "events for the relay itself",
	"Store.Tell":    "writes",
	"Store.TermsOf": contractState, "Store.Cases": "keys of contracts, for the gate, which is told whose cases they are",
	"Store.AgentByID": agentName, "Store.AgentByKey": agentName, "Store.AgentByToken": agentName, "Store.AddAgent": "writes",
	"Store.AgentPage": "names, for the operator", "Store.AgentProvisioned": "a yes or no for the write policy about a key the operator had made",
	"Store.Unsigned": "what is no event, for the operator who recovers a cluster",
	"Store.Reseal":   "writes", "Store.MasterKey": "a check value",
	"Store.VaultCheck": "a check value", "Store.SetVaultCheck": "writes",
	"Store.Outbox":      outboxOnly,
	"Store.OutboxWaits": "a yes or no for the outbox", "Store.OutboxNewest": "a time for the signer itself",
	"Store.OutboxLag": "numbers", "Store.OutboxForget": "writes", "Store.RelayKeys": "keys of the relay itself", "Store.SetRelayKey": "writes",
	"Store.RevokeRelayKey": "writes", "Store.ContractsNaming": "a number, for the operator", "Store.OutboxRefused": "writes", "Store.ContractRefusals": "words of relays on events, which the service tells parties",
	"Store.Join": "takes who orders commands", "Store.SequenceState": "what that one stored: places and members, no event", "Store.Execute": "writes", "Store.LeaveSequence": "writes",
	"apply.NewWriter": "writes", "retention.RemoveRows": "writes", "retention.Retire": "writes", "record.New": computes, "record.Parse": computes, "record.Tags": computes, "record.IndexedTag": computes, "record.ReaderKeys": computes, "record.HasHistory": computes, "record.VersionReader": computes,
	"record.OwnAddress": computes, "record.AddressKey": computes, "record.SameKey": computes, "record.IsContract": computes, "record.Deletable": computes,
	"record.StoredClass": computes, "record.StoredKind": computes, "search.Text": computes, "search.Table": computes, "search.StatementsOf": computes,
	"Store.Verify": "ids of what is damaged, for the operator", "Store.Rotten": "a number, for the operator",
	"query.Lacking": computes, "apply.Indexed": "yes or no", "rot.Look": "for readers that show what is told of a row to a scope alone",
	"query.Compile": computes, "query.Approved": "as Store.Approved", "query.Withdrawal": "as Store.Withdrawal",
	"Store.Observed": "reports how long a read took",
	"record.LastSeq": "a number of all writes", "record.NewestArrival": "a time of the relay itself", "search.IsComplete": "yes or no", "ledger.Above": "for the operator's report",
	"Hits.Cut": "made by Search under a scope", "Hits.Next": "made by Search under a scope, and asks with it again",
}

// Reasons for what the contract memory service reads. It asks for one pair of
// keys, and what its callers get of that is tested there, by role.
const (
	computes      = "computes from what it is given, and reads nothing"
	agentName     = "an agent's name and key, which are public; the sealed key opens under the master key alone"
	outboxOnly    = "for the outbox, which shows no reader anything"
	contractState = "the state of one pair, for the service that knows the caller's role in it"
	threadReader  = "its Thread says whose private entries are seen, and whether sealed ones are"
)

// embedded are the types that a Store has the methods of.
var embedded = []string{"Reader", "Restorer", "Cleaner"}

// TestEveryReadTakesAScope reads the sources: whatever is exported
// takes a gate.Scope, or an Ask, which holds one, unless it is listed above.
func TestEveryReadTakesAScope(t *testing.T) {
	seen := map[string]bool{}
	look := func(name string, params *ast.FieldList) {
		seen[name] = true
		scoped := slices.ContainsFunc(params.List, func(p *ast.Field) bool {
			return slices.Contains([]string{"gate.Scope", "store.Ask"}, typeName(p.Type))
		})
		if _, excused := noScope[name]; !scoped && !excused {
			t.Errorf("%s takes no scope", name)
		} else if scoped && excused {
			t.Errorf("%s takes a scope and is excused from it", name)
		}
	}
	for _, file := range sources(t) {
		for _, decl := range file.Decls {
			if all, ok := decl.(*ast.GenDecl); ok && all.Tok == token.TYPE && all.Specs[0].(*ast.TypeSpec).Name.Name == "upkeep" {
				for _, m := range all.Specs[0].(*ast.TypeSpec).Type.(*ast.InterfaceType).Methods.List { // embedded in the Store
					look("Store."+m.Names[0].Name, m.Type.(*ast.FuncType).Params)
				}
			}
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			name := fn.Name.Name
			if of := file.Name.Name; of != "sqlite" && of != "events" && fn.Recv == nil {
				name = of + "." + name
			}
			if fn.Recv != nil {
				recv := typeName(fn.Recv.List[0].Type)
				if slices.Contains(embedded, recv) {
					recv = "Store"
				}
				if name = recv + "." + name; recv != "Store" && !returnsEvents(fn) && recv != "Hits" {
					continue // String, Error and the like
				}
			}
			look(name, fn.Type.Params)
		}
	}
	for name := range noScope {
		if !seen[name] {
			t.Errorf("%s is listed but does not exist", name)
		}
	}
	if !seen["Store.Query"] || !seen["Store.Export"] {
		t.Fatalf("did not find the package's methods: %v", seen)
	}
}

// sources parses this package, those below it, and the one that opens it with the
// other parts of its Store, without their tests.
func sources(t *testing.T) (files []*ast.File) {
	t.Helper()
	dirs := []string{".", "..", "../admin", "../contracts", "../identities", "../outbox"}
	below, err := filepath.Glob("*/*.go")
	if err != nil || len(below) == 0 {
		t.Fatalf("no packages below this one: %v", err)
	}
	for _, file := range below {
		if dir := filepath.Dir(file); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s holds %v, %v", dir, names, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	return files
}

// typeName names a parameter's or receiver's type without pointers and slices.
func typeName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.ArrayType:
		return typeName(e.Elt)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// returnsEvents reports whether a method of another type gives out events.
func returnsEvents(fn *ast.FuncDecl) bool {
	return fn.Type.Results != nil && slices.ContainsFunc(fn.Type.Results.List, func(p *ast.Field) bool {
		return slices.Contains([]string{"store.Row", "store.Page", "Hits", "nostr.Event"}, typeName(p.Type))
	})
}

// TestZeroScopeSeesOpenEventsOnly asks every read method for everything.
func TestZeroScopeSeesOpenEventsOnly(t *testing.T) {
	w := newWorld(t, 4711, 300)
	open := 0
	for _, ev := range w.heads {
		if w.class(ev) == gate.Open {
			open++
		}
	}
	check := func(surface string, json []byte) {
		t.Helper()
		ev, err := wire.ParseEvent(json)
		if err != nil {
			t.Fatal(err)
		}
		if class := w.class(ev); class != gate.Open {
			t.Errorf("%s shows an event of class %v", surface, class)
		}
	}
	filters := []nostr.Filter{{}, {Authors: []string{}}}
	for _, k := range w.Keys {
		filters = append(filters, nostr.Filter{Authors: []string{k.Pub}}, nostr.Filter{Tags: nostr.TagMap{"p": {k.Pub}}})
	}
	for _, ev := range w.heads {
		filters = append(filters, nostr.Filter{IDs: []string{ev.ID}}, nostr.Filter{Kinds: []int{ev.Kind}})
	}
	for _, f := range filters {
		page, err := w.store.Query(t.Context(), store.Ask{Filter: f})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Rows {
			check("query", row.JSON)
		}
		if n, err := w.store.Count(t.Context(), []store.Ask{{Filter: f}}); err != nil || int(n) != len(page.Rows) {
			t.Errorf("count %d (%v) of %d", n, err, len(page.Rows))
		}
		if ids, err := w.store.IDs(t.Context(), store.Ask{Filter: f}, len(w.heads), func(int) error { return nil }); err != nil || len(ids) != len(page.Rows) {
			t.Errorf("%d ids (%v) of %d", len(ids), err, len(page.Rows))
		}
	}
	exported := 0
	for _, history := range []bool{false, true} {
		err := w.store.Export(t.Context(), gate.Scope{}, history, nil, func(json []byte) error {
			check("export", json)
			exported++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if exported != 2*open || open == 0 {
		t.Errorf("exported %d open events twice, want %d", exported, open)
	}
	for _, k := range w.Keys {
		for _, kind := range gatetest.Kinds {
			rows, _, err := w.store.History(t.Context(), gate.Scope{}, store.HistoryQuery{Kind: kind, Author: k.Pub})
			if err != nil || len(rows) > 0 {
				t.Fatalf("history of kind %d: %d rows, %v", kind, len(rows), err)
			}
		}
	}
	for scope, want := range map[string]bool{"nobody's": false, "the operator's": true} {
		s := gate.Scope{}
		if want {
			s = gate.Operator()
		}
		if rows, _, err := w.store.HistoryAfter(t.Context(), s, store.HistoryAfter{}); err != nil || (len(rows) > 0) != want {
			t.Errorf("everybody's history in %s scope: %d rows, %v", scope, len(rows), err)
		}
	}
	if kept, _, err := w.store.History(t.Context(), gate.Operator(), store.HistoryQuery{Kind: 30090, Author: w.Keys[0].Pub}); err != nil || len(kept) == 0 {
		t.Errorf("no history to hide: %v", err)
	}
}
