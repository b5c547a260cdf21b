package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/store"
)

// A start waits for a server that is behind, and refuses a log that does not
// continue the database, or that has no beginning.
func TestTheLogContinuesTheDatabase(t *testing.T) {
	for name, test := range map[string]struct {
		executed    uint64
		first, last []uint64 // in the order of the answers
		want        string
	}{
		"it does":         {7, []uint64{1}, []uint64{9}, ""},
		"a new node":      {0, []uint64{1}, []uint64{1}, ""},
		"a server behind": {7, []uint64{1, 1, 1}, []uint64{3, 5, 7}, ""},
		"another log":     {7, []uint64{1}, []uint64{3}, "the log ends at 3"},
		"trimmed":         {7, []uint64{9}, []uint64{20}, "the log begins at 9"},
		"all of it":       {7, []uint64{8}, []uint64{7}, ""},
		"nobody began it": {0, []uint64{1}, []uint64{0}, "init was interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				bounds := func(context.Context) (first, last uint64, err error) {
					i := min(asked, len(test.first)-1)
					asked++
					return test.first[i], test.last[i], nil
				}
				err := within(t.Context(), bounds, cluster.Place{At: store.LogPlace{Number: test.executed}}, 10*time.Second)
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%v, want %q", err, test.want)
				}
			})
		})
	}
}

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
