package daemon

import (
	"fmt"

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

// vitals are what this node says to engramd cluster doctor, here or elsewhere, and to who
// would join again. size is that of the database.
func (m *member) vitals(question []byte, size int64) []byte {
	node := m.node.Load()
	view := node.View()
	v := doctor.Node{
		ID: m.me.Node.String(), Name: m.name, Program: m.version, Leads: view.Leads, Applied: view.Applied, Hashes: cluster.Hashes(node),
		Clock: m.machine(), Doubted: !m.clock.Trusts(m.machine()), Settings: m.settings, Free: freeBytes(m.dir), Size: size,
	}
	stopped, refuses := m.trouble()
	if v.Trouble = stopped; refuses != "" {
		v.Trouble = "it takes no writes: " + refuses
	}
	for _, one := range view.Members {
		v.Members = append(v.Members, doctor.Member{ID: one.ID.String(), Name: one.Name, Heard: seconds(one.Heard)})
	}
	m.tellRead(question, &v)
	return v.Answer()
}
