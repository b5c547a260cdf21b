package metrics

import (
	"strings"
	"testing"
	"time"
)

// clusterValues are the metrics of a cluster by the end of their names; of the
// histogram the number of appends.
func clusterValues(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if name, ok := strings.CutPrefix(f.GetName(), "engramd_cluster_"); ok {
			v := f.GetMetric()[0]
			got[name] = v.GetGauge().GetValue() + v.GetCounter().GetValue() + float64(v.GetHistogram().GetSampleCount())
		}
	}
	return got
}

func TestClusterMetrics(t *testing.T) {
	m := New("test")
	if got := clusterValues(t, m); len(got) > 0 {
		t.Errorf("a process that is alone has %v", got)
	}
	m.WatchCluster(func() Cluster {
		return Cluster{Applied: 7, Commands: 6, HashCompared: 5, Differing: 8, Members: 3, LiveMembers: 2, Leads: true, ServersUnknown: 4, ServersUnsynced: 9, Refuses: true}
	})
	m.ClusterLog.AppendDone(3*time.Millisecond, true)
	m.ClusterLog.AppendDone(2*time.Second, false)
	m.ClusterLog.SentAgain(4)
	for n, became := range []string{"taken", "mark", "counter", "no member"} {
		m.ClusterLog.MessageRead(uint64(n+6), became, time.Duration(n)*time.Second-500*time.Millisecond)
	}
	m.ClusterLog.Executed(7, 30*time.Millisecond)
	got := clusterValues(t, m)
	for name, want := range map[string]float64{
		"applied": 7, "log_end": 9, "lag_seconds": 0.03, "commands": 6, "hash_compared": 5, "differing_members": 8, "members": 3, "live_members": 2, "leads": 1, "servers_unknown": 4, "servers_unsynced": 9, "refuses_writes": 1,
		"clock_offset_seconds": -0.5, "void_total": 2, "append_seconds": 1, "append_failures_total": 1, "sent_again_total": 4,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("not tested: %v", got)
	}
}

// TestTheClocksOffset is that of messages that came at once: one that was late
// says nothing of clocks, and a clock that was set is soon seen.
func TestTheClocksOffset(t *testing.T) {
	m := New("test")
	m.WatchCluster(func() Cluster { return Cluster{} })
	offset := func() float64 { return clusterValues(t, m)["clock_offset_seconds"] }
	for range 100 {
		m.ClusterLog.MessageRead(1, "taken", time.Hour) // it catches up
	}
	m.ClusterLog.MessageRead(2, "taken", time.Millisecond)
	if got := offset(); got != 0.001 {
		t.Errorf("%v after the first that came at once", got)
	}
	for range clusterOffsets {
		m.ClusterLog.MessageRead(3, "taken", 5*time.Second)
	}
	if got := offset(); got != 5 {
		t.Errorf("%v when the clock was set ahead", got)
	}
}
