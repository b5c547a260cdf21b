package cluster

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"engramd/internal/relay/store"
)

// View is what a node knows, as far as the log was read here.
type View struct {
	Members  []Member // in the order of their ids
	Live     int      // of these
	Leads    bool     // this node does
	Read     time.Time
	Applied  uint64 // up to which message everything is executed here
	Version  uint64 // of the cluster, in force here
	Shared   string // the shared configuration in force here, "" if none was proposed
	Commands uint64 // of the store, that were executed here
	Compared uint64 // of these, up to which a majority of the members reported the same outcomes
	// Differing are the names of the members that have read another log than the
	// majority, or than this node while that is open.
	Differing []string
}

// Member is a node that takes part.
type Member struct {
	ID      NodeID
	Name    string
	Version uint64        // up to which cluster version it can go
	Heard   time.Duration // ago, by the log's time
	Durable uint64        // up to which message its database is durable, as it reported
	Live    bool          // it was heard in the last 30 s
	Leads   bool          // it has the lease, or had it last
}

// View returns it.
func (n *Node) View() View {
	leads := n.Leads()
	n.mu.Lock()
	defer n.mu.Unlock()
	v := View{
		Leads: leads, Read: time.Unix(0, n.seen.time), Applied: n.applied(), Version: n.durable.version, Shared: n.durable.text,
		Commands: n.durable.chain.count, Compared: n.durable.compared(), Differing: differing(n.seen),
	}
	now := n.clock(n.o.Clock()).UnixNano()
	for _, m := range n.seen.members {
		live := now-m.heard < int64(liveTime)
		if live {
			v.Live++
		}
		v.Members = append(v.Members, Member{m.id, m.name, m.version, max(0, time.Duration(now-m.heard)), m.durable, live, m.id == n.seen.lease.holder})
	}
	return v
}

// Clock is the time of the last message, carried on by the machine's clock. It
// may go back by as long as a message takes to come here.
func (n *Node) Clock() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clock(n.o.Clock())
}

// clock is the log's time at a time of the machine's clock.
func (p *position) clock(now time.Time) time.Time {
	if p.seen.time == 0 {
		return now
	}
	return time.Unix(0, p.seen.time).Add(now.Sub(p.base))
}

// Leads implements store.Sequencer: this boot of the node holds the lease, and
// has executed everything that came before it did.
func (n *Node) Leads() bool { return n.leaseEpoch() != noLease }

// leaseKey is the key of a context's epoch; noLease is the epoch where this node
// does not lead.
type leaseKey struct{}

const noLease = ^uint64(0)

// Lease returns a context under which commands are appended that only the leader
// may give: where another one leads when they come, they fail with ErrLease and
// do nothing.
func (n *Node) Lease(ctx context.Context) context.Context {
	return context.WithValue(ctx, leaseKey{}, n.leaseEpoch())
}

func (n *Node) leaseEpoch() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.o.Clock()
	if n.err != nil || n.durable.lease.epoch != n.seen.lease.epoch || !n.fit(now) || !n.seen.leads(n.o.NodeID, n.o.Boot, n.clock(now).UnixNano()) {
		return noLease
	}
	return n.seen.lease.epoch
}

// Place is where a database stands that belongs to a cluster.
type Place struct {
	Cluster ClusterID
	At      store.LogPlace // of the last command that was executed
	Whole   bool           // the message has no more commands
	Count   uint64         // commands of the store that were executed
	Hash    [32]byte       // over their outcomes
	Version uint64         // of the cluster
	Trail   [16]byte       // over the messages up to At.Number, zero where that is unknown
	Members []NodeID
	Names   []string // of the members
	// Configuration is the shared one in force there, "" if none was proposed.
	Configuration string
}

// Inspect reads a state that is stored with a database.
func Inspect(stored []byte) (Place, error) {
	s, err := unmarshalState(stored)
	if err != nil {
		return Place{}, err
	}
	p := Place{Cluster: s.cluster, At: store.LogPlace{Number: s.number, Index: s.next - 1}, Whole: s.left == 0, Count: s.chain.count, Hash: s.chain.hash, Version: s.version, Configuration: s.text}
	p.Trail, _ = s.trail.at(s.number, s.number)
	for _, m := range s.members {
		p.Members, p.Names = append(p.Members, m.id), append(p.Names, m.name)
	}
	return p, nil
}

// Hashes returns the hashes that a node has, by the place that they are of: of the
// last messages that it read, and of outcomes. Whoever has the same place has the
// same hash.
func Hashes(n *Node) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := map[string]string{}
	for i, hash := range n.seen.trail.last {
		all[fmt.Sprintf("message %d", n.seen.number+1+uint64(i)-uint64(len(n.seen.trail.last)))] = hex.EncodeToString(hash[:])
	}
	for _, k := range n.durable.chain.checks {
		all[fmt.Sprintf("command %d", k.count)] = hex.EncodeToString(k.hash[:len(trailHash{})])
	}
	return all
}
