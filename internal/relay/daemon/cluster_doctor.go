package daemon

import (
	"encoding/json"
	"fmt"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/doctor"
)

// alike are the settings that are to be the same on all nodes although nothing
// enforces it.
func alike(cfg *config.Config) map[string]string {
	k := &cfg.Cluster
	return map[string]string{
		"cluster.reads": k.Reads, "cluster.replicas": fmt.Sprint(k.Replicas), "cluster.trust_sync": fmt.Sprint(k.TrustSync),
	}
}

// vitals are what this node says to engramd cluster doctor, here or elsewhere.
func (m *member) vitals(settings map[string]string) []byte {
	node, now := m.node.Load(), m.machine()
	applied, _ := node.Applied()
	v := doctor.Node{
		ID: m.me.Node.String(), Name: m.name, Program: m.version, Leads: node.Leads(), Applied: applied, Hashes: cluster.Hashes(node),
		Clock: now, Doubted: !m.clock.Trusts(now), Free: freeBytes(m.dir), Settings: settings,
	}
	if err := node.Err(); err != nil {
		v.Trouble = err.Error()
	}
	log := node.Clock()
	for _, one := range node.Members() {
		v.Members = append(v.Members, doctor.Member{ID: one.ID.String(), Name: one.Name, Heard: max(0, log.Sub(one.Heard)).Round(time.Millisecond).Seconds()})
	}
	answer, _ := json.Marshal(v) // numbers and texts
	return answer
}
