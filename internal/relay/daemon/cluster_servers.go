package daemon

import (
	"fmt"
	"slices"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/daemon/doctor"
)

// looked is told what was seen of the log's servers. A stream that nodes cannot go by
// ends this one; for servers work goes on, and those that do not sync the node counts.
func (m *member) looked(v jetstream.Survey, err error) {
	if err != nil {
		m.fail(err)
		return
	}
	node, last := m.node.Load(), m.seen.Load()
	cluster.Unsynced(node, v.Unsynced)
	refuses := cluster.Refuses(node)
	now := &seen{doctor.Log(&v), v.Unknown, len(v.Unsynced), refuses != nil}
	m.seen.Store(now)
	if last == nil {
		last = new(seen)
	}
	if !slices.Equal(now.say, last.say) {
		for _, text := range now.say {
			m.log.Error("of the log's servers: " + text)
		}
		if len(now.say) == 0 {
			m.log.Info("nothing is wrong with the log's servers any more")
		}
	}
	if now.refuses != last.refuses {
		m.log.Error("whether this node takes writes has changed", "takes", !now.refuses, "unsynced", v.Unsynced)
	}
}

// seen is what was seen of the log's servers last.
type seen struct {
	say      []string // what is to be done, for the operator
	unknown  int      // of those that keep the log it is not known whether they sync
	unsynced int
	refuses  bool
}

// ails says in public what is wrong with the log's servers, "" for nothing, and why this
// node takes no writes, nil while it does.
func (m *member) ails() (what string, refuses error) {
	node, now := m.node.Load(), m.seen.Load()
	if node == nil || now == nil {
		return "", nil
	}
	switch {
	case now.unsynced > 0:
		what = fmt.Sprintf("%d of the log's servers do not sync what they acknowledge", now.unsynced)
	case now.unknown > 0:
		what = fmt.Sprintf("of %d of the log's servers it is not known whether they sync", now.unknown)
	}
	return what, cluster.Refuses(node)
}

// trouble is why this node executes nothing, and why it takes no writes while it does;
// "" for neither.
func (m *member) trouble() (stopped, refuses string) {
	if err := m.node.Load().Err(); err != nil {
		return err.Error(), ""
	}
	if _, err := m.ails(); err != nil {
		return "", err.Error()
	}
	return "", ""
}
