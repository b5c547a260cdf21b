package daemon

import (
	"time"

	"engramd/internal/relay/metrics"
	"engramd/internal/relay/status"
)

// clusterMetrics is read at every scrape.
func (c *process) clusterMetrics() metrics.Cluster {
	node := c.cluster.node.Load()
	applied, _ := node.Applied()
	return metrics.Cluster{
		Applied: float64(applied), HashCompared: float64(node.Compared()), Members: float64(len(node.Members())),
		LiveMembers: float64(len(node.Live())), Leads: node.Leads(),
	}
}

// clusterReport is this node's part of engramd status. It does not look at c.cfg,
// which belongs to the goroutine that handles signals.
func (c *process) clusterReport() *status.Cluster {
	node := c.cluster.node.Load()
	applied, _ := node.Applied()
	end, offset := c.metrics.ClusterLog.ClusterSeen()
	_, version := node.Configuration()
	r := &status.Cluster{
		Name: c.cluster.name, Applied: applied, LogEnd: max(end, applied), Compared: node.Compared(), Leads: node.Leads(),
		Clock: offset.Seconds(), Version: version,
	}
	if err := node.Err(); err != nil {
		r.Why = err.Error()
	}
	live := map[string]bool{}
	for _, m := range node.Live() {
		live[m.ID.String()] = true
	}
	leader, now := node.Leader(), node.Clock()
	for _, m := range node.Members() {
		r.Members = append(r.Members, status.Member{
			Name: m.Name, Version: m.Version, Heard: max(0, now.Sub(m.Heard)).Round(time.Millisecond).Seconds(), Durable: m.Durable,
			Live: live[m.ID.String()], Leads: m.ID == leader,
		})
	}
	return r
}
