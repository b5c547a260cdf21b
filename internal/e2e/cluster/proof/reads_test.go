package proof

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
)

// TestReadsAskTheMembers: a read of the latest state appends nothing while all members
// answer, needs no leader of the log, and is right whatever somebody answers in a
// member's name.
func TestReadsAskTheMembers(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Alone: true})
	conn := openLog(t, c)
	var all [3]*relaytest.Client
	for i := range all {
		all[i] = c.Dial(i)
		all[i].Patience = wait
	}
	k := relaytest.NewKey(1920)
	shown := 0
	// read writes at one node and reads at the next, each in turn.
	read := func(t *testing.T, times int) {
		t.Helper()
		for range times {
			shown++
			ev := note(k, fmt.Sprint("read ", shown))
			mustStore(t, all[shown%3], ev)
			if a, err := all[(shown+1)%3].Query(relaytest.Filter{"ids": []string{ev.ID}}); err != nil || len(a.Events) != 1 {
				t.Fatalf("%d events, %s %v", len(a.Events), a.Closed, err)
			}
		}
	}
	t.Run("nothing is appended", func(t *testing.T) {
		c.Until("a hundred reads append nothing", wait, func() error { // unless the machine is busy
			before := marksIn(t, conn)
			read(t, 100)
			if n := marksIn(t, conn) - before; n > 0 {
				return fmt.Errorf("%d marks", n)
			}
			return nil
		})
	})
	t.Run("somebody lies", func(t *testing.T) {
		for name, lie := range map[string]func(boot uint64) (uint64, uint64){
			"far beyond the end":     func(boot uint64) (uint64, uint64) { return boot, 1 << 40 },
			"a little beyond":        func(boot uint64) (uint64, uint64) { return boot, lastOf(conn) + 30 },
			"an earlier boot":        func(boot uint64) (uint64, uint64) { return boot - 1, 1 },
			"below what it executed": func(boot uint64) (uint64, uint64) { return boot, 1 },
		} {
			id, boot := identity(t, c.Node(1))
			var told atomic.Int64
			stop, err := conn.Subscribe("ask", func(question []byte) {
				boot, number := lie(boot)
				answer := append(bytes.Clone(question), id[:]...)
				answer = binary.AppendUvarint(binary.AppendUvarint(answer, boot), number)
				to := cluster.NodeID(question[1+len(cluster.ClusterID{}):][:len(id)])
				if conn.Publish(t.Context(), "answer."+to.String(), answer) == nil {
					told.Add(1)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for began := time.Now(); told.Load() < 5; { // each may be the last for a second
				if read(t, 3); time.Since(began) > wait {
					t.Fatalf("%s: %d questions", name, told.Load())
				}
			}
			stop()
		}
	})
	t.Run("the log has no leader", func(t *testing.T) {
		read(t, 3)
		last := relaytest.Filter{"kinds": []int{relaytest.KindNote}, "authors": []string{k.Pub}, "limit": 1}
		c.Until("nodes answer while two servers are gone", wait, func() error {
			c.Kill(0)
			c.Kill(1)
			defer func() {
				c.Rig.Start(0)
				c.Rig.Start(1)
				c.Settle()
			}()
			var answered [3]int
			for began := time.Now(); time.Since(began) < 40*time.Second; { // a message may have come to one node alone
				for i, at := range all {
					a, failed := at.Query(last)
					if failed == nil && len(a.Events) == 1 {
						answered[i]++
					}
				}
				if min(answered[0], answered[1], answered[2]) >= 5 {
					return nil
				}
			}
			return fmt.Errorf("answered by %v", answered)
		})
	})
}

// openLog opens the log of nodes, until the test ends.
func openLog(t *testing.T, c *nodes.Cluster) *jetstream.Conn {
	t.Helper()
	o := c.Client().Options()
	o.Stream = stream
	conn, err := jetstream.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// identity is what a node's folder says of it.
func identity(t *testing.T, n *nodes.Node) (id cluster.NodeID, boot uint64) {
	t.Helper()
	var said struct {
		Node string
		Boot uint64
	}
	text, err := os.ReadFile(filepath.Join(n.Data, "cluster.json"))
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err == nil {
		_, err = hex.Decode(id[:], []byte(said.Node))
	}
	if err != nil {
		t.Fatal(err)
	}
	return id, said.Boot
}

// lastOf is the number of the log's last message.
func lastOf(conn *jetstream.Conn) uint64 {
	_, last, _ := conn.Bounds(context.Background())
	return last
}

// marksIn counts the messages of the log that have no commands: their counter is 0.
func marksIn(t *testing.T, conn *jetstream.Conn) (n int) {
	t.Helper()
	enough, last := errors.New("enough"), lastOf(conn)
	if last == 0 {
		t.Fatal("the log does not say where it ends")
	}
	err := conn.Read(t.Context(), 1, func(m cluster.Message) error {
		rest := m.Data[1+len(cluster.ClusterID{})+len(cluster.NodeID{}):]
		_, size := binary.Uvarint(rest) // the boot
		if counter, _ := binary.Uvarint(rest[size:]); counter == 0 {
			n++
		}
		if m.Number >= last {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return n
}
