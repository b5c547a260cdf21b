package gate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/gate"
)

// knownGrants are the places where scopes come from and where requests enter,
// and how often each package calls them. No read method of the store exists
// without a scope, so that a new way of reading shows up here: give it a
// gate.Surface and a driver in surfaces_test.go before its number.
var knownGrants = map[string]int{
	"internal/relay: ScopeFor":                                    1, // Authorize, by surface
	"internal/relay: gate.Party":                                  2, // History and Past
	"internal/relay/replica: gate.Party":                          1, // what a followed relay is told of
	"internal/relay/replica: gate.Operator":                       1, // which of the ids that it names are here, for this relay itself
	"internal/relay/websocket: Authorize":                         1, // REQ (stored, search, live) and COUNT
	"internal/relay/http: Authorize":                              1, // POST /query and /count
	"internal/relay/contracts: ScopeFor":                          1, // whether a contract may be asked for by its id
	"internal/relay/daemon/command: gate.Operator":                2, // export and count, the operator's own
	"internal/relay/daemon/recovery: gate.Operator":               2, // what only one node of a halted cluster has, the operator's own
	"internal/relay/daemon/wiring: gate.Operator":                 1, // delete, the same
	"internal/relay/store/sqlite/events/retention: gate.Operator": 1, // delete, the same
	"internal/relay/store/sqlite/storetest: gate.Operator":        1, // what a test finds in its own store
	"internal/relay/contracts/identity: gate.Operator":            1, // when its own agent last signed
	"internal/relay/snapshots: gate.Operator":                     3, // the operator's own
}

// TestGateGrants reads the sources: every call that makes a scope, or asks for
// one, is listed, and every surface is named somewhere.
func TestGateGrants(t *testing.T) {
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "internal/relay/gate" || name == "internal/e2e" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return countGrants(found, path, filepath.ToSlash(filepath.Dir(name)))
	})
	if err != nil {
		t.Fatal(err)
	}
	surfaces := map[string]bool{}
	for call, n := range found {
		if surface, ok := strings.CutPrefix(call, "surface "); ok {
			surfaces[surface] = true
		} else if n != knownGrants[call] {
			t.Errorf("%s is called %d times, %d are known: is there a new way of reading?", call, n, knownGrants[call])
		}
	}
	for call := range knownGrants {
		if found[call] == 0 {
			t.Errorf("%s is not called any more", call)
		}
	}
	if len(surfaces) != len(gate.Surfaces()) {
		t.Errorf("the gate has %d surfaces, and the sources name %v", len(gate.Surfaces()), surfaces)
	}
}

// countGrants adds what one file calls and which surfaces it names.
func countGrants(found map[string]int, path, pkg string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from, _ := sel.X.(*ast.Ident)
		ofGate := from != nil && from.Name == "gate"
		switch name := sel.Sel.Name; {
		case ofGate && (name == "Operator" || name == "Party"):
			found[pkg+": gate."+name]++
		case name == "ScopeFor" || name == "Authorize":
			found[pkg+": "+name]++
		case ofGate && strings.HasPrefix(name, "Surface") && name != "Surface" && name != "Surfaces":
			found["surface "+name]++
		}
		return true
	})
	return nil
}
