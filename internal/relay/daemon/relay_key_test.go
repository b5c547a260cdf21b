package daemon

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// A node starts with its cluster's master key only, even if nothing is sealed
// yet; a single process may have a new one then.
func TestNodesHaveOneMasterKey(t *testing.T) {
	dir := t.TempDir()
	cfg := config.Default()
	cfg.Data = dir
	table, err := wiring.Table(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Options: engine.Options{Path: filepath.Join(dir, "a.db")}, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.SetVaultCheck(t.Context(), []byte("the cluster's")); err != nil {
		t.Fatal(err)
	}
	for _, clustered := range []bool{true, false} {
		cfg.Cluster.Enabled = clustered
		o, err := wiring.VaultOptions(t.Context(), cfg, nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := vault.Open(o); (err != nil) != clustered {
			t.Errorf("a node: %v, %v", clustered, err)
		}
	}
}

// Where other nodes have the key, nobody is told to make another one.
func TestAKeyThatOtherNodesHave(t *testing.T) {
	lost := fmt.Errorf("relay.key: %w: engramd relay-key adopt --lost makes another one", keys.ErrLost)
	alone := &ownKeys{common: common{lead: &leadership{}}}
	if err := alone.ofAll(lost, "data"); err != lost {
		t.Errorf("alone: %v", err)
	}
	node := &ownKeys{common: common{lead: &leadership{leads: func() bool { return false }}}}
	if err := node.ofAll(lost, "data"); !errors.Is(err, keys.ErrLost) || strings.Contains(err.Error(), "adopt") || !strings.Contains(err.Error(), "copy relay.key") {
		t.Errorf("a node: %v", err)
	}
}
