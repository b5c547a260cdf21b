package cluster

import (
	"slices"
	"time"

	"engramd/internal/relay/store"
)

// unsyncedTime is for how long commands are taken while a server that keeps the log
// is known to acknowledge what is not on its disk.
const unsyncedTime = 10 * time.Minute

// servers is what this node knows of those that keep the log.
type servers struct {
	unsynced []string
	since    time.Time // when there was a first one of them
}

// Unsynced tells a node which of the servers that keep the log are known not to sync
// what they acknowledge. Where there are any for ten minutes the node takes no more
// commands of the store until it is told that there are none: an OK would not last.
func Unsynced(n *Node, names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.unsynced) == 0 {
		n.since = n.o.Clock()
	}
	n.unsynced = slices.Clone(names)
}

// Refuses returns why a node takes no commands of the store, nil while it does.
func Refuses(n *Node) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	patience := unsyncedTime
	if n.o.Faults.RefuseSoon {
		patience = keepEvery
	}
	if len(n.unsynced) == 0 || n.o.Faults.TrustServers || n.o.Clock().Sub(n.since) < patience {
		return nil
	}
	return store.ErrUnsynced
}
