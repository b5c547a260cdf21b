package sqlite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// owners are who keeps which tables, by the beginnings of their names; the
// longest one counts, and events keep all others. Who keeps a table alone writes
// it.
var owners = map[string]string{
	"meta": "engine", "admin_": "admin", "used_calls": "admin", "relay_keys": "identities",
	"contract_": "contracts", "contract_outbox": "outbox", "contract_refusals": "outbox",
	"contract_agents": "identities", "contract_tokens": "identities", "contract_names_gone": "identities",
	"": "events",
}

// readers are the tables of others that a package may read: the text of an event,
// by its number or id, and what was withdrawn, for a capture and for Check.
var readers = map[string][]string{
	"contracts": {"events", "history", "meta"}, "identities": {"meta"},
	"events": {"meta", "contract_entries", "contract_moves"},
}

var (
	sqlText  = regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE|FROM|JOIN)\b`)
	sqlWrite = regexp.MustCompile(`\b(?:INTO|UPDATE(?: OR [A-Z]+)?|DELETE FROM)\s+([a-z_]+)`)
	sqlRead  = regexp.MustCompile(`\b(?:FROM|JOIN)\s+([a-z_]+)`)
)

// TestTablesHaveOneOwner: no package writes a table that another keeps, and each
// reads of others' only what it may.
func TestTablesHaveOneOwner(t *testing.T) {
	tables := tablesOf(t)
	seen, read := map[string]bool{}, map[string]bool{}
	for _, pkg := range []string{"admin", "contracts", "engine", "events", "identities", "outbox"} {
		for file, texts := range literals(t, pkg) {
			for _, text := range texts {
				for _, m := range sqlWrite.FindAllStringSubmatch(text, -1) {
					if tables[m[1]] && owner(m[1]) != pkg {
						t.Errorf("%s writes %s, which %s keeps: %s", file, m[1], owner(m[1]), text)
					}
					seen[m[1]] = tables[m[1]]
				}
				for _, m := range sqlRead.FindAllStringSubmatch(text, -1) {
					read[pkg+" "+m[1]] = true
					if of := owner(m[1]); tables[m[1]] && of != pkg && !slices.Contains(readers[pkg], m[1]) {
						t.Errorf("%s reads %s, which %s keeps: %s", file, m[1], of, text)
					}
				}
			}
		}
	}
	for pkg, others := range readers {
		for _, table := range others {
			if !read[pkg+" "+table] {
				t.Errorf("%s does not read %s any more: take it off the list", pkg, table)
			}
		}
	}
	for _, name := range []string{"events", "history", "contract_entries", "contract_agents", "contract_outbox", "admin_lists", "meta"} {
		if !seen[name] {
			t.Errorf("nobody writes %s: this test looks at the wrong thing", name)
		}
	}
}

func owner(table string) string {
	longest := ""
	for prefix := range owners {
		if strings.HasPrefix(table, prefix) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	return owners[longest]
}

// tablesOf are the tables of a new database.
func tablesOf(t *testing.T) map[string]bool {
	t.Helper()
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	db := engine.New(engine.Options{Path: o.Path, ReadOnly: true})
	if err := db.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	names, err := storetest.OnReader(t.Context(), db, "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil || len(names) < 30 {
		t.Fatal(names, err)
	}
	tables := map[string]bool{}
	for _, name := range names {
		tables[name.(string)] = true
	}
	return tables
}

// literals are the texts of a package, and of those below it, that look like SQL, by
// file.
func literals(t *testing.T, pkg string) map[string][]string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		some, err := filepath.Glob(filepath.Join(pkg, pattern))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, some...)
	}
	out := map[string][]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && sqlText.MatchString(text) {
				out[name] = append(out[name], text)
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatalf("%s has no SQL", pkg)
	}
	return out
}
