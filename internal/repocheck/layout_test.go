package repocheck

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
	"nips/nipae":                       {},
	"nips/kind":                        {},
	"nips/nip01":                       {},
	"nips/nip77":                       {},
	"nips/niptemp":                     {"nips/kind", "nips/nip01", "nips/nipae"},
	"nips/disclose":                    {"nips/nipae"},
	"nips/frontmatter":                 {"nips/nipae"},
	"migrations":                       {},
	"internal/relay/config":            {},
	"internal/relay/metrics":           {"internal/relay/gate"},
	"internal/repocheck":               {},
	"internal/repocheck/sizes":         {},
	"internal/relay/fairness":          {},
	"internal/platform/files":          {},
	"internal/platform/keychain":       {},
	"internal/platform/service":        {},
	"internal/relay/memlimit":          {},
	"internal/relay/logging/redact":    {},
	"internal/relay/plugin":            {"nips/kind", "internal/relay/fairness", "internal/relay/gate", "internal/relay/logging/redact", "internal/protocol/wire"},
	"internal/protocol/schnorr":        {},
	"internal/protocol/schnorr/batch":  {"internal/protocol/schnorr"},
	"internal/relay/keys/keyfile":      {},
	"internal/agent/harness":           {},
	"internal/relay/logging":           {},
	"internal/relay/keys":              {"internal/relay/keys/keyfile", "internal/relay/store"},
	"internal/protocol/wire":           {"internal/protocol/schnorr"},
	"internal/secrets":                 {},
	"internal/relay/notify":            {"nips/kind", "nips/nipae"},
	"internal/relay/httpauth":          {},
	"internal/relay/retention":         {"nips/kind", "nips/nipae", "nips/niptemp"},
	"internal/relay/management":        {"nips/nip01", "internal/relay/gate", "internal/protocol/wire", "internal/relay/store", "internal/relay/metrics", "internal/secrets"},
	"internal/relay/gate":              {"nips/nip01", "nips/nipae", "nips/niptemp"},
	"internal/relay/policy":            {"nips/kind", "nips/nip01", "internal/relay/fairness", "nips/nipae", "nips/niptemp", "internal/relay/gate", "internal/protocol/wire"},
	"internal/relay/cluster/jetstream": {"internal/relay/cluster"},
	// What a store is; consumers declare what they need of one. Only cmd opens
	// the implementation, and only it speaks SQL.
	"internal/relay/store": {"nips/nip01", "internal/relay/gate", "internal/relay/retention", "internal/relay/fairness", "nips/niptemp"},
	// What makes one store of several: it knows no database and no network.
	"internal/relay/cluster": {"internal/relay/fairness", "internal/relay/store"},
	// Parts of the database that know nothing of each other: sqlite alone puts
	// them together.
	"internal/relay/store/sqlite":              {"internal/relay/store", "internal/relay/store/sqlite/admin", "internal/relay/store/sqlite/contracts", "internal/relay/store/sqlite/engine", "internal/relay/store/sqlite/events", "internal/relay/store/sqlite/identities", "internal/relay/store/sqlite/outbox"},
	"internal/relay/store/sqlite/admin":        {"internal/relay/store", "internal/relay/store/sqlite/column", "internal/relay/store/sqlite/engine"},
	"internal/relay/store/sqlite/column":       {"internal/relay/store/sqlite/engine", "internal/protocol/wire"},
	"internal/relay/store/sqlite/contracts":    {"internal/relay/gate", "internal/relay/store", "internal/relay/store/sqlite/column", "internal/relay/store/sqlite/engine", "nips/nip01", "nips/niptemp"},
	"internal/relay/store/sqlite/identities":   {"internal/relay/store", "internal/relay/store/sqlite/column", "internal/relay/store/sqlite/engine"},
	"internal/relay/store/sqlite/outbox":       {"internal/relay/store", "internal/relay/store/sqlite/column", "internal/relay/store/sqlite/engine", "internal/protocol/wire"},
	"internal/relay/store/sqlite/events":       {"internal/relay/fairness", "nips/kind", "nips/nip01", "nips/nip77", "internal/relay/retention", "nips/nipae", "nips/niptemp", "internal/relay/gate", "internal/protocol/wire", "internal/relay/store", "internal/relay/store/sqlite/column", "internal/relay/store/sqlite/engine"},
	"internal/relay/store/sqlite/engine":       {"internal/relay/fairness", "internal/relay/store", "internal/relay/store/sqlite/engine/steps", "migrations"},
	"internal/relay/store/sqlite/engine/steps": {},
	"internal/relay":                           {"nips/nip01", "nips/nip77", "internal/relay/retention", "internal/relay/fairness", "nips/nipae", "nips/niptemp", "internal/relay/gate", "internal/relay/policy", "internal/relay/store", "internal/protocol/wire", "internal/relay/metrics"},
	"internal/relay/websocket":                 {"nips/nip01", "nips/nip77", "internal/relay/fairness", "internal/relay/logging/redact", "internal/relay", "internal/relay/gate", "internal/relay/store", "internal/protocol/wire", "internal/relay/metrics"},
	"internal/relay/http":                      {"nips/nip01", "internal/relay/fairness", "internal/relay/logging/redact", "internal/relay/httpauth", "internal/relay", "internal/relay/gate", "internal/relay/store", "internal/protocol/wire", "internal/relay/metrics"},
	"internal/platform/timeparse":              {},
	"internal/memory/quote":                    {"nips/frontmatter"},
	"internal/web":                             {},
	"internal/memory/project":                  {},
	"internal/agent/hook":                      {"internal/memory/project", "internal/memory/quote", "nips/frontmatter"},
	"internal/agent/briefing":                  {"internal/agent/hook", "internal/memory/intentions", "internal/memory/activity", "internal/memory/consolidation", "internal/memory/consolidation/plans", "internal/memory/recall", "internal/memory/recall/answer", "nips/frontmatter"},
	"internal/memory/state/sealedfile":         {"internal/platform/files"},
	"internal/memory/state":                    {"internal/protocol/writerlog", "internal/memory/state/sealedfile"},
	"internal/protocol/writerlog":              {"nips/nipae"},
	"internal/memory/verify/attestation":       {"internal/protocol/writerlog", "internal/protocol/wire"},
	"internal/memory/transplant":               {"nips/kind", "nips/disclose", "nips/nipae", "nips/frontmatter", "internal/protocol/wire"},
	"internal/memory/verify":                   {"internal/protocol/writerlog", "internal/client", "nips/nipae"},
	"internal/memory/verify/writer":            {"internal/memory/state", "internal/protocol/writerlog", "internal/client", "nips/nipae"},
	"internal/memory/model":                    {},
	"internal/memory/vectors/embed":            {"internal/memory/model"},
	"internal/memory/vectors":                  {"internal/memory/vectors/embed", "internal/memory/localcopy", "internal/memory/recall", "nips/frontmatter"},
	"internal/client":                          {"internal/protocol/writerlog", "nips/kind", "nips/nip77", "nips/nipae", "nips/niptemp", "nips/disclose", "internal/platform/timeparse", "internal/protocol/wire"},
	"internal/client/transcript":               {"internal/client", "internal/client/evidence", "internal/protocol/wire"},
	"internal/client/evidence":                 {"internal/client", "internal/protocol/wire", "nips/niptemp"},
	// What a text becomes before it is stored.
	"internal/memory/write":          {"internal/memory/quote", "nips/nipae", "nips/frontmatter", "internal/client"},
	"internal/memory/anthropicfiles": {"nips/nipae", "nips/frontmatter", "internal/memory/write"},
	// What others would have remembered.
	"internal/memory/proposals": {"internal/agent/hook", "nips/nipae", "nips/frontmatter", "internal/client", "internal/memory/write", "internal/secrets"},
	// What other tools remember, as it would be here.
	"internal/memory/folder":  {"nips/nipae", "internal/client", "internal/platform/files"},
	"internal/memory/foreign": {"nips/nipae", "nips/frontmatter"},
	// What an agent's memory finds again, over documents that it is given.
	"internal/memory/recall":                {"internal/memory/quote", "nips/nipae", "nips/frontmatter"},
	"internal/memory/localcopy":             {"internal/memory/recall", "internal/memory/state/sealedfile", "internal/protocol/wire", "nips/nip77", "nips/nipae", "nips/frontmatter"},
	"internal/memory/localcopy/follow":      {"internal/client", "internal/memory/localcopy", "nips/nip77"},
	"internal/memory/recall/measure":        {"nips/frontmatter", "internal/memory/recall", "internal/memory/activity"},
	"internal/memory/recall/answer":         {"internal/memory/quote", "nips/nipae", "nips/frontmatter", "internal/memory/localcopy", "internal/memory/recall", "internal/memory/write", "internal/memory/activity"},
	"internal/memory/intentions":            {"internal/memory/project", "internal/memory/quote", "nips/frontmatter", "internal/memory/recall", "internal/memory/recall/answer"},
	"internal/memory/intentions/acts":       {"nips/nipae", "nips/frontmatter", "internal/client", "internal/memory/intentions", "internal/memory/write", "internal/platform/timeparse"},
	"internal/memory/activity":              {"nips/nipae", "nips/frontmatter", "internal/memory/recall"},
	"internal/memory/consolidation":         {"internal/memory/project", "internal/memory/quote", "nips/nipae", "nips/frontmatter", "internal/memory/recall", "internal/memory/recall/answer"},
	"internal/memory/consolidation/thinker": {"internal/platform/files", "internal/memory/consolidation", "internal/memory/model", "internal/secrets"},
	"internal/memory/consolidation/plans":   {"nips/nipae", "nips/frontmatter", "internal/memory/state", "internal/client", "internal/platform/files", "internal/memory/consolidation", "internal/memory/recall/answer"},
	// Contract memory over the relay; its transports are above it.
	"internal/relay/contracts":          {"nips/nip01", "internal/relay/fairness", "nips/niptemp", "nips/disclose", "internal/relay/gate", "internal/relay", "internal/relay/store", "internal/protocol/wire"},
	"internal/relay/contracts/api":      {"nips/nip01", "internal/relay/fairness", "nips/niptemp", "internal/relay/http", "internal/relay/contracts", "internal/relay/gate", "internal/relay/httpauth", "internal/relay/store"},
	"internal/relay/contracts/vault":    {"internal/relay/keys/keyfile"},
	"internal/relay/contracts/identity": {"nips/niptemp", "internal/relay/contracts", "internal/relay/contracts/vault", "internal/relay/gate", "internal/relay/store"},
	"internal/relay/contracts/outbox":   {"nips/nip01", "nips/niptemp", "internal/client", "internal/relay", "internal/relay/store", "internal/protocol/wire"},
	// The format of snapshots and where they lie: files only, no database and no
	// network.
	"internal/snapshot/bundle": {"nips/kind", "internal/platform/files", "nips/nipae", "nips/niptemp", "internal/protocol/wire"},
	"internal/snapshot":        {"internal/protocol/writerlog", "internal/platform/files", "nips/nipae", "internal/snapshot/bundle"},
	"internal/relay/snapshots": {"nips/nipae", "internal/relay/notify", "internal/relay/gate", "internal/relay/metrics", "internal/snapshot", "internal/snapshot/bundle",
		"internal/relay/store"},
	"internal/relay/snapshots/managed": {"nips/nip01", "internal/relay/management", "internal/snapshot", "internal/snapshot/bundle", "internal/relay/snapshots", "internal/relay/store"},
	// JSON lines into the store, and the daemon's local socket.
	"internal/relay/ingest": {"nips/kind", "nips/nipae", "internal/relay/gate", "internal/relay/policy", "internal/relay", "internal/protocol/schnorr/batch", "internal/snapshot/bundle",
		"internal/relay/snapshots", "internal/relay/store", "internal/protocol/wire"},
	"internal/relay/control": {"internal/relay/ingest"},
	// Other relays followed, by the client's connections.
	"internal/relay/replica":    {"nips/kind", "nips/nip01", "nips/nip77", "nips/niptemp", "internal/client", "internal/relay/gate", "internal/relay/store"},
	"internal/relay/status":     {"internal/relay/replica", "internal/relay/metrics", "internal/relay/websocket", "internal/relay/store"},
	"internal/memory/snapshots": {"nips/kind", "internal/platform/files", "nips/nipae", "nips/niptemp", "internal/client", "internal/snapshot", "internal/snapshot/bundle", "internal/protocol/wire"},
	"internal/agent/mcp":        {"internal/memory/quote", "internal/memory/proposals", "internal/agent/hook", "internal/agent/briefing", "internal/memory/consolidation", "nips/nipae", "nips/niptemp", "nips/frontmatter", "internal/client", "internal/memory/anthropicfiles", "internal/memory/recall", "internal/memory/recall/answer", "internal/memory/write", "internal/secrets", "internal/platform/timeparse", "internal/memory/intentions", "internal/memory/intentions/acts", "internal/memory/consolidation/plans"},
	"cmd/engramctl": {"internal/memory/quote", "internal/platform/files", "internal/platform/keychain", "internal/platform/service", "internal/agent/harness", "nips/nipae", "nips/niptemp", "nips/disclose", "nips/frontmatter", "internal/memory/write", "internal/client", "internal/client/transcript", "internal/client/evidence", "internal/agent/mcp", "internal/secrets", "internal/protocol/wire",
		"internal/snapshot", "internal/snapshot/bundle", "internal/memory/snapshots", "internal/platform/timeparse", "internal/memory/localcopy", "internal/memory/localcopy/follow", "internal/memory/recall", "internal/memory/recall/answer", "internal/memory/state", "internal/memory/vectors/embed", "internal/memory/vectors", "internal/agent/hook", "internal/agent/briefing", "internal/memory/activity", "internal/memory/consolidation", "internal/memory/folder", "internal/memory/foreign", "internal/memory/project", "internal/memory/intentions", "internal/memory/intentions/acts", "internal/memory/consolidation/plans", "internal/memory/consolidation/thinker", "internal/memory/model", "internal/memory/verify/attestation", "internal/protocol/writerlog", "internal/memory/verify", "internal/memory/verify/writer", "internal/memory/proposals", "internal/memory/transplant", "internal/web"},
	// A module of its own, which knows the wire only. No package above may name
	// it.
	"cmd/engram-load":                   {"cmd/engram-load/internal/load", "cmd/engram-load/internal/bench", "cmd/engram-load/internal/report", "cmd/engram-load/internal/recalled", "internal/memory/vectors/embed", "internal/memory/recall", "internal/memory/recall/measure"},
	"cmd/engram-load/internal/recalled": {"internal/memory/recall", "internal/memory/recall/measure"},
	"cmd/engram-load/internal/load":     {"nips/nipae", "internal/protocol/wire"},
	"cmd/engram-load/internal/bench":    {"cmd/engram-load/internal/load"},
	"cmd/engram-load/internal/report":   {"cmd/engram-load/internal/load", "cmd/engram-load/internal/bench", "internal/e2e/siege/section"},
	"cmd/engramd": {"nips/nip01", "internal/relay/cluster", "internal/relay/cluster/jetstream", "internal/relay/replica", "internal/relay/keys/keyfile", "internal/relay/ingest", "internal/relay/control", "internal/relay/status", "internal/relay/snapshots/managed", "internal/relay/fairness", "internal/relay/logging/redact", "internal/relay/plugin", "nips/niptemp", "internal/relay/management", "internal/relay/contracts", "internal/relay/contracts/api", "internal/relay/httpauth", "internal/relay/config", "internal/relay/metrics", "internal/relay/http", "internal/relay/websocket", "internal/relay", "internal/relay/policy", "internal/client", "internal/relay/logging", "internal/relay/keys", "internal/relay/retention", "internal/relay/memlimit",
		"internal/relay/gate", "internal/relay/store", "internal/relay/store/sqlite", "internal/protocol/wire", "internal/relay/notify", "internal/secrets", "internal/relay/contracts/vault", "internal/relay/contracts/identity", "internal/relay/contracts/outbox", "internal/snapshot", "internal/snapshot/bundle", "internal/relay/snapshots", "internal/web", "internal/platform/timeparse"},
}

// support packages are imported by tests only, and may import anything.
var support = []string{"internal/e2e", "internal/relay/gate/oracle", "internal/relay/gate/gatetest", "internal/relay/store/sqlite/storetest", "internal/relay/http/bridgetest", "internal/e2e/inprocess", "internal/relay/ingest/ingesttest", "internal/relay/notify/natstest"}

// only says who may import a foreign package outside of tests.
var only = map[string][]string{
	"database/sql":                                            {},
	"database/sql/driver":                                     {"internal/relay/store/sqlite/engine", "cmd/engram-load/internal/recalled"},
	"github.com/ncruces/go-sqlite3":                           {"internal/memory/state/sealedfile"},
	"github.com/mattn/go-sqlite3":                             {"internal/relay/store/sqlite/engine", "internal/relay/store/sqlite/engine/steps", "cmd/engram-load/internal/recalled"},
	"github.com/fiatjaf/khatru":                               {"internal/relay"},
	"github.com/gorilla/websocket":                            {"internal/relay/websocket", "internal/client"},
	"github.com/BurntSushi/toml":                              {"internal/relay/config", "internal/agent/harness", "cmd/engram-load/internal/bench", "cmd/engramctl"},
	"github.com/modelcontextprotocol/go-sdk/mcp":              {"internal/agent/mcp"},
	"filippo.io/age":                                          {"internal/snapshot/bundle"},
	"filippo.io/age/agessh":                                   {"internal/snapshot/bundle"},
	"github.com/klauspost/compress/zstd":                      {"internal/snapshot/bundle"},
	"github.com/consensys/gnark-crypto/ecc/secp256k1":         {"internal/protocol/schnorr/batch"},
	"github.com/fsnotify/fsnotify":                            {"internal/memory/folder"},
	"github.com/blevesearch/snowballstem":                     {"internal/memory/recall"},
	"github.com/zalando/go-keyring":                           {"internal/platform/keychain"},
	"golang.org/x/text/unicode/norm":                          {"internal/memory/recall", "internal/memory/folder", "internal/memory/quote"},
	"github.com/nats-io/nats.go":                              {"internal/relay/notify", "internal/relay/cluster/jetstream"},
	"github.com/nats-io/nats.go/jetstream":                    {"internal/relay/cluster/jetstream"},
	"github.com/prometheus/client_golang/prometheus":          {"internal/relay/metrics"},
	"github.com/prometheus/client_golang/prometheus/promhttp": {"internal/relay/metrics"},
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
