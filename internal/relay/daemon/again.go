package daemon

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
)

// struck reports whether the node has ended because it is no member any more. Where
// the log was trimmed beyond it, which waits for every member, it does not read that.
func (m *member) struck(err error) bool {
	if node := m.node.Load(); node != nil {
		err = errors.Join(err, node.Err())
	}
	return errors.Is(err, cluster.ErrStruck) || errors.Is(err, cluster.ErrTrimmed)
}

// readUpTo is the subject of a node that asks what the others have read, lastRead its
// question, and othersRead an answer.
const readUpTo = "read"

type lastRead struct {
	Node   string `json:"node"`
	Number uint64 `json:"number"` // up to which its database has executed
}

type othersRead struct {
	Hash    string `json:"hash,omitempty"` // of all up to there, in hex, if it is known
	Size    int64  `json:"size"`           // of the database
	Removed bool   `json:"removed,omitempty"`
}

// tellRead answers it; size is that of the database.
func (m *member) tellRead(question []byte, size int64) []byte {
	var q lastRead
	var id cluster.NodeID
	if json.Unmarshal(question, &q) != nil || hex.DecodedLen(len(q.Node)) != len(id) {
		return nil
	}
	if _, err := hex.Decode(id[:], []byte(q.Node)); err != nil {
		return nil
	}
	node := m.node.Load()
	a := othersRead{Size: size, Removed: cluster.Removed(node, id)}
	if hash, known := cluster.HashAt(node, q.Number); known {
		a.Hash = hex.EncodeToString(hash[:])
	}
	answer, _ := json.Marshal(a) // numbers and texts
	return answer
}

// again has a node that was struck out join again, if nothing is lost by that: what it
// has executed, members that run have read.
func again(ctx context.Context, c *common, cfg *config.Config) (err error) {
	lock, err := takeFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	id, err := membership.Read(cfg.Data)
	if err != nil {
		return err
	}
	was, err := membership.PlaceOf(ctx, wiring.Database(cfg.Data))
	if err != nil {
		return err
	}
	conn, err := jetstream.Open(ctx, membership.LogOptions(cfg))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Check(ctx); err != nil {
		return err
	}
	question, err := json.Marshal(lastRead{Node: id.Node.String(), Number: was.At.Number})
	if err != nil {
		return err
	}
	var hashes [][16]byte
	var size int64
	removed := false
	err = conn.Gather(ctx, readUpTo, question, func(text []byte) {
		var a othersRead
		if json.Unmarshal(text, &a) != nil {
			return
		}
		size, removed = max(size, a.Size), removed || a.Removed
		if b, err := hex.DecodeString(a.Hash); err == nil && len(b) == 16 {
			hashes = append(hashes, [16]byte(b))
		}
	})
	switch {
	case err != nil:
		return err
	case removed:
		return fmt.Errorf("somebody has taken it out (engramd cluster remove): %w", cluster.ErrPerson)
	}
	now := c.member.machine()
	if err := cluster.Again(was, hashes, id.Again, now, clusterFaults(c.env)); err != nil {
		return err
	}
	join := membership.Joining{
		Conn: conn, Dir: cfg.Data, Command: membership.Serving, Again: now, Aside: membership.Aside(),
		Fits: func(p cluster.Place) error {
			if p.Cluster != id.Cluster || p.At.Number < was.At.Number {
				return errors.New("the database that another node gives does not continue this one")
			}
			return nil
		},
	}
	if free := freeBytes(cfg.Data) + join.Here(); free < size {
		return fmt.Errorf("%d bytes are free, and another node's database has %d: make room, and start it again", free, size)
	}
	if _, _, err := join.Join(ctx); err != nil {
		return err
	}
	c.log.Warn("this node was struck out, and has joined again: what it had is kept", "folder", join.Aside, "up_to", was.At.Number)
	return nil
}
