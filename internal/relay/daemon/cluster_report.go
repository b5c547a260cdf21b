package daemon

import (
	"time"

	"engramd/internal/relay/metrics"
	"engramd/internal/relay/status"
)

// figures are read at every scrape.
func (m *member) figures() metrics.Cluster {
	node := m.node.Load()
	applied, _ := node.Applied()
	return metrics.Cluster{
		Applied: float64(applied), HashCompared: float64(node.Compared()), Members: float64(len(node.Members())),
		LiveMembers: float64(len(node.Live())), Leads: node.Leads(),
	}
}

// report is this node's part of engramd status.
func (m *member) report() *status.Cluster {
	node := m.node.Load()
	applied, _ := node.Applied()
	end, offset := m.metrics.ClusterLog.ClusterSeen()
	_, version := node.Configuration()
	r := &status.Cluster{
		Name: m.name, Applied: applied, LogEnd: max(end, applied), Compared: node.Compared(), Leads: node.Leads(),
		Clock: offset.Seconds(), Version: version,
	}
	if err := node.Err(); err != nil {
		r.Why = err.Error()
	}
	live := map[string]bool{}
	for _, one := range node.Live() {
		live[one.ID.String()] = true
	}
	leader, now := node.Leader(), node.Clock()
	for _, one := range node.Members() {
		r.Members = append(r.Members, status.Member{
			Name: one.Name, Version: one.Version, Heard: max(0, now.Sub(one.Heard)).Round(time.Millisecond).Seconds(), Durable: one.Durable,
			Live: live[one.ID.String()], Leads: one.ID == leader,
		})
	}
	return r
}
