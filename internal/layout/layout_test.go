package layout

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// allowed lists, for every package of both modules, which others it may import
// outside of its tests. A package that is not listed fails the test: decide
// where it belongs. A trailing "/..." on the left means everything below.
var allowed = map[string][]string{
	"nips/nipae":                 {},
	"nips/kind":                  {},
	"nips/nip01":                 {},
	"nips/nip77":                 {},
	"nips/niptemp":               {"nips/kind", "nips/nip01", "nips/nipae"},
	"nips/disclose":              {"nips/nipae"},
	"nips/unit":                  {"nips/nipae"},
	"migrations":                 {},
	"internal/config":            {},
	"internal/metrics":           {"internal/gate"},
	"internal/layout":            {},
	"internal/layout/sizes":      {},
	"internal/share":             {},
	"internal/files":             {},
	"internal/keychain":          {},
	"internal/service":           {},
	"internal/memory":            {},
	"internal/trace":             {},
	"internal/program":           {"nips/kind", "internal/share", "internal/gate", "internal/trace", "internal/wire"},
	"internal/schnorr":           {},
	"internal/schnorr/many":      {"internal/schnorr"},
	"internal/keyfile":           {},
	"internal/harness":           {},
	"internal/loglimit":          {},
	"internal/relaykey":          {"internal/keyfile", "internal/store"},
	"internal/wire":              {"internal/schnorr"},
	"internal/secrets":           {},
	"internal/events":            {"nips/kind", "nips/nipae"},
	"internal/replay":            {},
	"internal/retention":         {"nips/kind", "nips/nipae", "nips/niptemp"},
	"internal/admin":             {"nips/nip01", "internal/gate", "internal/wire", "internal/store", "internal/metrics", "internal/secrets"},
	"internal/gate":              {"nips/nip01", "nips/nipae", "nips/niptemp"},
	"internal/policy":            {"nips/kind", "nips/nip01", "internal/share", "nips/nipae", "nips/niptemp", "internal/gate", "internal/wire"},
	"internal/cluster/jetstream": {"internal/cluster"},
	// What a store is; consumers declare what they need of one. Only cmd opens
	// the implementation, and only it speaks SQL.
	"internal/store": {"nips/nip01", "internal/gate", "internal/retention", "internal/share", "nips/niptemp"},
	// What makes one store of several: it knows no database and no network.
	"internal/cluster": {"internal/share", "internal/store"},
	// Parts of the database that know nothing of each other: sqlite alone puts
	// them together.
	"internal/store/sqlite":              {"internal/store", "internal/store/sqlite/admin", "internal/store/sqlite/contracts", "internal/store/sqlite/engine", "internal/store/sqlite/events", "internal/store/sqlite/identities", "internal/store/sqlite/outbox"},
	"internal/store/sqlite/admin":        {"internal/store", "internal/store/sqlite/column", "internal/store/sqlite/engine"},
	"internal/store/sqlite/column":       {"internal/store/sqlite/engine", "internal/wire"},
	"internal/store/sqlite/contracts":    {"internal/gate", "internal/store", "internal/store/sqlite/column", "internal/store/sqlite/engine", "nips/nip01", "nips/niptemp"},
	"internal/store/sqlite/identities":   {"internal/store", "internal/store/sqlite/column", "internal/store/sqlite/engine"},
	"internal/store/sqlite/outbox":       {"internal/store", "internal/store/sqlite/column", "internal/store/sqlite/engine", "internal/wire"},
	"internal/store/sqlite/events":       {"internal/share", "nips/kind", "nips/nip01", "nips/nip77", "internal/retention", "nips/nipae", "nips/niptemp", "internal/gate", "internal/wire", "internal/store", "internal/store/sqlite/column", "internal/store/sqlite/engine"},
	"internal/store/sqlite/engine":       {"internal/share", "internal/store", "internal/store/sqlite/engine/steps", "migrations"},
	"internal/store/sqlite/engine/steps": {},
	"internal/relay":                     {"nips/nip01", "nips/nip77", "internal/retention", "internal/share", "nips/nipae", "nips/niptemp", "internal/gate", "internal/policy", "internal/store", "internal/wire", "internal/metrics"},
	"internal/session":                   {"nips/nip01", "nips/nip77", "internal/share", "internal/trace", "internal/relay", "internal/gate", "internal/store", "internal/wire", "internal/metrics"},
	"internal/bridge":                    {"nips/nip01", "internal/share", "internal/trace", "internal/replay", "internal/relay", "internal/gate", "internal/store", "internal/wire", "internal/metrics"},
	"internal/when":                      {},
	"internal/quote":                     {"nips/unit"},
	"internal/web":                       {},
	"internal/project":                   {},
	"internal/hook":                      {"internal/project", "internal/quote", "nips/unit"},
	"internal/wake":                      {"internal/hook", "internal/intend", "internal/metabolism", "internal/mind", "internal/mind/plans", "internal/recall", "internal/recollect", "nips/unit"},
	"internal/sealedfile":                {"internal/files"},
	"internal/agentstate":                {"internal/chain", "internal/sealedfile"},
	"internal/chain":                     {"nips/nipae"},
	"internal/attestation":               {"internal/chain", "internal/wire"},
	"internal/transplant":                {"nips/kind", "nips/disclose", "nips/nipae", "nips/unit", "internal/wire"},
	"internal/chain/audit":               {"internal/chain", "internal/client", "nips/nipae"},
	"internal/chain/writer":              {"internal/agentstate", "internal/chain", "internal/client", "nips/nipae"},
	"internal/modelserver":               {},
	"internal/embed":                     {"internal/modelserver"},
	"internal/meaning":                   {"internal/embed", "internal/mirror", "internal/recall", "nips/unit"},
	"internal/client":                    {"internal/chain", "nips/kind", "nips/nip77", "nips/nipae", "nips/niptemp", "nips/disclose", "internal/when", "internal/wire"},
	"internal/client/transcript":         {"internal/client", "internal/client/evidence", "internal/wire"},
	"internal/client/evidence":           {"internal/client", "internal/wire", "nips/niptemp"},
	// What a text becomes before it is stored.
	"internal/remember": {"internal/quote", "nips/nipae", "nips/unit", "internal/client"},
	"internal/memfile":  {"nips/nipae", "nips/unit", "internal/remember"},
	// What others would have remembered.
	"internal/proposals": {"internal/hook", "nips/nipae", "nips/unit", "internal/client", "internal/remember", "internal/secrets"},
	// What other tools remember, as it would be here.
	"internal/folder":  {"nips/nipae", "internal/client", "internal/files"},
	"internal/migrate": {"nips/nipae", "nips/unit"},
	// What an agent's memory finds again, over documents that it is given.
	"internal/recall":         {"internal/quote", "nips/nipae", "nips/unit"},
	"internal/mirror":         {"internal/recall", "internal/sealedfile", "internal/wire", "nips/nip77", "nips/nipae", "nips/unit"},
	"internal/mirror/follow":  {"internal/client", "internal/mirror", "nips/nip77"},
	"internal/recall/measure": {"nips/unit", "internal/recall", "internal/metabolism"},
	"internal/recollect":      {"internal/quote", "nips/nipae", "nips/unit", "internal/mirror", "internal/recall", "internal/remember", "internal/metabolism"},
	"internal/intend":         {"internal/project", "internal/quote", "nips/unit", "internal/recall", "internal/recollect"},
	"internal/intend/acts":    {"nips/nipae", "nips/unit", "internal/client", "internal/intend", "internal/remember", "internal/when"},
	"internal/metabolism":     {"nips/nipae", "nips/unit", "internal/recall"},
	"internal/mind":           {"internal/project", "internal/quote", "nips/nipae", "nips/unit", "internal/recall", "internal/recollect"},
	"internal/mind/think":     {"internal/files", "internal/mind", "internal/modelserver", "internal/secrets"},
	"internal/mind/plans":     {"nips/nipae", "nips/unit", "internal/agentstate", "internal/client", "internal/files", "internal/mind", "internal/recollect"},
	// Contract memory over the relay; its transports are above it.
	"internal/contracts":          {"nips/nip01", "internal/share", "nips/niptemp", "nips/disclose", "internal/gate", "internal/relay", "internal/store", "internal/wire"},
	"internal/contracts/api":      {"nips/nip01", "internal/share", "nips/niptemp", "internal/bridge", "internal/contracts", "internal/gate", "internal/replay", "internal/store"},
	"internal/contracts/vault":    {"internal/keyfile"},
	"internal/contracts/identity": {"nips/niptemp", "internal/contracts", "internal/contracts/vault", "internal/gate", "internal/store"},
	"internal/contracts/outbox":   {"nips/nip01", "nips/niptemp", "internal/client", "internal/relay", "internal/store", "internal/wire"},
	// The format of snapshots and where they lie: files only, no database and no
	// network.
	"internal/snapshot/bundle": {"nips/kind", "internal/files", "nips/nipae", "nips/niptemp", "internal/wire"},
	"internal/snapshot":        {"internal/chain", "internal/files", "nips/nipae", "internal/snapshot/bundle"},
	"internal/snapshot/operator": {"nips/nipae", "internal/events", "internal/gate", "internal/metrics", "internal/snapshot", "internal/snapshot/bundle",
		"internal/store"},
	"internal/snapshot/managed": {"nips/nip01", "internal/admin", "internal/snapshot", "internal/snapshot/bundle", "internal/snapshot/operator", "internal/store"},
	// JSON lines into the store, and the daemon's local socket.
	"internal/importer": {"nips/kind", "nips/nipae", "internal/gate", "internal/policy", "internal/relay", "internal/schnorr/many", "internal/snapshot/bundle",
		"internal/snapshot/operator", "internal/store", "internal/wire"},
	"internal/control": {"internal/importer"},
	// Other relays followed, by the client's connections.
	"internal/replica":         {"nips/kind", "nips/nip01", "nips/nip77", "nips/niptemp", "internal/client", "internal/gate", "internal/store"},
	"internal/status":          {"internal/replica", "internal/metrics", "internal/session", "internal/store"},
	"internal/snapshot/remote": {"nips/kind", "internal/files", "nips/nipae", "nips/niptemp", "internal/client", "internal/snapshot", "internal/snapshot/bundle", "internal/wire"},
	"internal/mcp":             {"internal/quote", "internal/proposals", "internal/hook", "internal/wake", "internal/mind", "nips/nipae", "nips/niptemp", "nips/unit", "internal/client", "internal/memfile", "internal/recall", "internal/recollect", "internal/remember", "internal/secrets", "internal/when", "internal/intend", "internal/intend/acts", "internal/mind/plans"},
	"cmd/engramctl": {"internal/quote", "internal/files", "internal/keychain", "internal/service", "internal/harness", "nips/nipae", "nips/niptemp", "nips/disclose", "nips/unit", "internal/remember", "internal/client", "internal/client/transcript", "internal/client/evidence", "internal/mcp", "internal/secrets", "internal/wire",
		"internal/snapshot", "internal/snapshot/bundle", "internal/snapshot/remote", "internal/when", "internal/mirror", "internal/mirror/follow", "internal/recall", "internal/recollect", "internal/agentstate", "internal/embed", "internal/meaning", "internal/hook", "internal/wake", "internal/metabolism", "internal/mind", "internal/folder", "internal/migrate", "internal/project", "internal/intend", "internal/intend/acts", "internal/mind/plans", "internal/mind/think", "internal/modelserver", "internal/attestation", "internal/chain", "internal/chain/audit", "internal/chain/writer", "internal/proposals", "internal/transplant", "internal/web"},
	// A module of its own, which knows the wire only. No package above may name
	// it.
	"cmd/engram-load":                   {"cmd/engram-load/internal/load", "cmd/engram-load/internal/bench", "cmd/engram-load/internal/report", "cmd/engram-load/internal/recalled", "internal/embed", "internal/recall", "internal/recall/measure"},
	"cmd/engram-load/internal/recalled": {"internal/recall", "internal/recall/measure"},
	"cmd/engram-load/internal/load":     {"nips/nipae", "internal/wire"},
	"cmd/engram-load/internal/bench":    {"cmd/engram-load/internal/load"},
	"cmd/engram-load/internal/report":   {"cmd/engram-load/internal/load", "cmd/engram-load/internal/bench", "internal/e2e/siege/section"},
	"cmd/engramd": {"nips/nip01", "internal/cluster", "internal/cluster/jetstream", "internal/replica", "internal/keyfile", "internal/importer", "internal/control", "internal/status", "internal/snapshot/managed", "internal/share", "internal/trace", "internal/program", "nips/niptemp", "internal/admin", "internal/contracts", "internal/contracts/api", "internal/replay", "internal/config", "internal/metrics", "internal/bridge", "internal/session", "internal/relay", "internal/policy", "internal/client", "internal/loglimit", "internal/relaykey", "internal/retention", "internal/memory",
		"internal/gate", "internal/store", "internal/store/sqlite", "internal/wire", "internal/events", "internal/secrets", "internal/contracts/vault", "internal/contracts/identity", "internal/contracts/outbox", "internal/snapshot", "internal/snapshot/bundle", "internal/snapshot/operator", "internal/web", "internal/when"},
}

// support packages are imported by tests only, and may import anything.
var support = []string{"internal/e2e", "internal/gate/oracle", "internal/gate/gatetest", "internal/store/sqlite/storetest", "internal/bridge/bridgetest", "internal/contracts/contracttest", "internal/importer/importertest", "internal/events/natstest"}

// only says who may import a foreign package outside of tests.
var only = map[string][]string{
	"database/sql":                                            {},
	"database/sql/driver":                                     {"internal/store/sqlite/engine", "cmd/engram-load/internal/recalled"},
	"github.com/ncruces/go-sqlite3":                           {"internal/sealedfile"},
	"github.com/mattn/go-sqlite3":                             {"internal/store/sqlite/engine", "internal/store/sqlite/engine/steps", "cmd/engram-load/internal/recalled"},
	"github.com/fiatjaf/khatru":                               {"internal/relay"},
	"github.com/gorilla/websocket":                            {"internal/session", "internal/client"},
	"github.com/BurntSushi/toml":                              {"internal/config", "internal/harness", "cmd/engram-load/internal/bench", "cmd/engramctl"},
	"github.com/modelcontextprotocol/go-sdk/mcp":              {"internal/mcp"},
	"filippo.io/age":                                          {"internal/snapshot/bundle"},
	"filippo.io/age/agessh":                                   {"internal/snapshot/bundle"},
	"github.com/klauspost/compress/zstd":                      {"internal/snapshot/bundle"},
	"github.com/consensys/gnark-crypto/ecc/secp256k1":         {"internal/schnorr/many"},
	"github.com/fsnotify/fsnotify":                            {"internal/folder"},
	"github.com/blevesearch/snowballstem":                     {"internal/recall"},
	"github.com/zalando/go-keyring":                           {"internal/keychain"},
	"golang.org/x/text/unicode/norm":                          {"internal/recall", "internal/folder", "internal/quote"},
	"github.com/nats-io/nats.go":                              {"internal/events", "internal/cluster/jetstream"},
	"github.com/nats-io/nats.go/jetstream":                    {"internal/cluster/jetstream"},
	"github.com/prometheus/client_golang/prometheus":          {"internal/metrics"},
	"github.com/prometheus/client_golang/prometheus/promhttp": {"internal/metrics"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsGoDownwards(t *testing.T) {
	for _, pkg := range list(t) {
		name := strings.TrimPrefix(pkg.ImportPath, "engramd/")
		if isSupport(name) {
			continue
		}
		may, ok := allowed[name]
		if !ok {
			t.Errorf("package %s has no place in the layout: add it to allowed and to ARCHITECTURE.md", name)
			continue
		}
		for _, imported := range pkg.Imports {
			if own, ok := strings.CutPrefix(imported, "engramd/"); ok {
				if !slices.Contains(may, own) {
					t.Errorf("%s imports %s, which is not below it", name, own)
				}
				continue
			}
			if who, limited := only[imported]; limited && !slices.Contains(who, name) {
				t.Errorf("%s imports %s, which is for %v only", name, imported, who)
			}
		}
	}
}

func isSupport(name string) bool {
	return slices.ContainsFunc(support, func(s string) bool {
		return name == s || strings.HasPrefix(name, s+"/")
	})
}

func list(t *testing.T) []listed {
	t.Helper()
	var all []listed
	for _, module := range []string{product, load} {
		dec, before := json.NewDecoder(strings.NewReader(goList(t, module, "-json=ImportPath,Imports", "./..."))), len(all)
		for {
			var pkg listed
			if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, pkg)
		}
		if len(all) < before+4 {
			t.Fatalf("%s: go list named %d packages only", module, len(all)-before)
		}
	}
	return all
}
