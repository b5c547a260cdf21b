package proof

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/verify"
	"engramd/internal/relay/store"
)

// acknowledgeNothing writes at a node that reaches no server, and kills it.
func acknowledgeNothing(x *trial) {
	n, c := x.Node(0), x.conn(0)
	x.until(c)
	n.Way.SetAll(rig.BlackHole)
	x.w.Note(c)
	n.Kill()
	n.Way.SetAll(rig.Healed)
	if err := n.Start(); err != nil {
		x.w.Broken("a node does not start again: %v", err)
	}
}

// readBehind reads, at a node that receives nothing from the servers, what
// another has acknowledged.
func readBehind(x *trial) {
	writer, reader := x.conn(0), x.conn(1)
	x.until(reader)
	x.Node(1).Way.SetAll(rig.HalfOpen)
	x.w.Shows(reader, x.until(writer), true)
	x.Node(1).Way.SetAll(rig.Healed)
	x.until(reader)
}

// writeMany writes one note after the other.
func writeMany(x *trial) {
	c := x.conn(0)
	for range 40 {
		x.w.Note(c)
	}
	x.until(x.conn(1))
}

// askOldLeader reads, at a node that reaches only the cut-off former leader of
// the log, what another has acknowledged. It tries a few times: the old leader
// steps down some seconds after a new one is elected.
func askOldLeader(x *trial) {
	writer, reader := x.conn(0), x.conn(1)
	for range x.rounds {
		old := x.Leader(stream)
		x.Node(0).Way.Set(old, rig.Cut)
		for j := range x.Count() {
			if j != old {
				x.Node(1).Way.Set(j, rig.Cut)
			}
		}
		x.until(writer)
		x.until(reader)
		x.Isolate(old, rig.Cut)
		for range 3 {
			x.w.Shows(reader, x.until(writer), true)
		}
		x.Isolate(old, rig.Healed)
		x.Node(0).Way.SetAll(rig.Healed)
		x.Node(1).Way.SetAll(rig.Healed)
		x.Settle()
		x.until(writer)
		x.until(reader)
		if len(x.w.Violations()) > 0 {
			return
		}
	}
}

// replayABan appends an old batch again: a ban that was lifted since.
func replayABan(x *trial) {
	k := relaytest.NewKey(uint64(time.Now().UnixNano()))
	before := x.last()
	x.manage("banpubkey", k.Pub)
	after := x.last()
	x.manage("unbanpubkey", k.Pub)
	for n := before + 1; n <= after; n++ {
		x.append(x.message(n))
	}
	wrote := x.w.Publish(x.conn(1), note(k, "after the ban was lifted"))
	if wrote.Outcome != verify.Stored {
		x.w.Broken("a batch came twice, and did something: OK false %q", wrote.Message)
	}
}

// newest is a version that no cluster is at yet.
const newest = 1 << 20

// oldLease appends a command that was given under an expired lease.
func oldLease(x *trial) {
	ev := note(relaytest.NewKey(uint64(time.Now().UnixNano())), "under no lease")
	raw, err := json.Marshal(ev)
	if err != nil {
		x.t.Fatal(err)
	}
	command, err := store.AppendCommand(nil, store.Executed{Command: store.PutEvent{Event: raw}})
	if err != nil {
		x.t.Fatal(err)
	}
	var node cluster.NodeID
	binary.BigEndian.PutUint64(node[:], uint64(time.Now().UnixNano()))
	message, err := cluster.Batch(x.clusterID(), node, 1, cluster.Join{Name: "ghost", Version: newest})
	if err != nil {
		x.t.Fatal(err)
	}
	const count = 1 + len(cluster.ClusterID{}) + len(cluster.NodeID{}) + 2 // where the number of commands is encoded
	message[count]++
	message = binary.AppendUvarint(message, 1<<40) // the epoch
	message = binary.AppendUvarint(append(message, 0), uint64(len(command)))
	x.append(append(message, command...))
	for i := range x.Nodes() {
		found, err := x.conn(i).Query(nostr.Filter{IDs: []string{ev.ID}})
		if err != nil {
			x.t.Fatalf("node %d: %v", i, err)
		}
		if len(found) > 0 {
			x.w.Broken("node %d has executed a command of a lease that is over", i)
		}
	}
}

// banFromBehind bans a key at one node, and has the key write at another that
// has received nothing since.
func banFromBehind(x *trial) {
	k, c := relaytest.NewKey(uint64(time.Now().UnixNano())), x.conn(1)
	x.until(c)
	x.Node(1).Way.SetAll(rig.HalfOpen)
	x.manage("banpubkey", k.Pub)
	ev, began, done := note(k, "from a banned key"), time.Now(), make(chan *verify.Write, 1)
	go func() { done <- x.w.Publish(c, ev) }()
	x.until(x.conn(2)) // others go on meanwhile
	x.Node(1).Way.SetAll(rig.Healed)
	wrote := <-done
	x.until(c)
	found, err := x.conn(0).Query(nostr.Filter{IDs: []string{ev.ID}})
	if err != nil {
		x.t.Fatalf("node 0: %v", err)
	}
	if wrote.Outcome == verify.Stored || len(found) > 0 {
		x.w.Broken("a note of a key that was banned before %v: OK %v", began, wrote.Outcome)
	}
}

func (x *trial) manage(method, pub string) {
	x.t.Helper()
	if outcome, why := x.w.Manage(0, method, pub); outcome != verify.Stored {
		x.t.Fatalf("%s: %v %s", method, outcome, why)
	}
}
