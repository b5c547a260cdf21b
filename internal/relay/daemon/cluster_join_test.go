package daemon

import (
	"errors"
	"testing"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/daemon/membership"
)

// A database that has executed nothing is accepted only of the first node,
// before its first command.
func TestALostDatabaseIsNotANewOne(t *testing.T) {
	dir := t.TempDir()
	k := &member{dir: dir, me: membership.Identity{Cluster: cluster.ClusterID{1}, Node: cluster.NodeID{1}, Boot: 1, Fresh: true}}
	if err := errors.Join(k.me.Save(dir), k.begun(false), k.begun(true)); err != nil {
		t.Fatal(err)
	}
	var err error
	if k.me, err = membership.NextBoot(dir); err != nil || k.me.Fresh {
		t.Fatalf("%+v, %v", k.me, err)
	}
	if err := k.begun(true); err != nil {
		t.Error(err)
	}
	if err := k.begun(false); err == nil {
		t.Error("a lost database is taken for a new one")
	}
}
