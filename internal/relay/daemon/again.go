package daemon

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/doctor"
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

// tellRead answers a node that was struck out what this one has read, and knows of it.
func (m *member) tellRead(question []byte, v *doctor.Node) {
	var q doctor.Question
	if json.Unmarshal(question, &q) != nil || q.Number == 0 {
		return
	}
	node := m.node.Load()
	v.Removed = cluster.Removed(node, q.Node)
	if hash, known := cluster.HashAt(node, q.Number); known {
		v.Hash = hex.EncodeToString(hash[:])
	}
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
	nodes, err := doctor.Ask(ctx, conn, doctor.Question{Node: id.Node, Number: was.At.Number})
	var hashes [][16]byte
	var size int64
	removed := false
	for _, n := range nodes {
		size, removed = max(size, n.Size), removed || n.Removed
		if b, err := hex.DecodeString(n.Hash); err == nil && len(b) == 16 {
			hashes = append(hashes, [16]byte(b))
		}
	}
	switch {
	case err != nil:
		return err
	case removed:
		return fmt.Errorf("it was removed (engramd cluster remove): %w", cluster.ErrPerson)
	}
	now := c.member.machine()
	if err := cluster.Again(was, hashes, time.Unix(id.Again, 0), now, clusterFaults(c.env)); err != nil {
		return err
	}
	join := membership.Joining{Conn: conn, Dir: cfg.Data, Command: membership.Serving, Again: now.Unix(), Aside: membership.Aside()}
	if free := freeBytes(cfg.Data) + join.Here(); free < size {
		return fmt.Errorf("%d bytes are free, and another node's database has %d: make room, and start it again", free, size)
	}
	place, err := join.Fetch(ctx)
	if err != nil {
		return err
	}
	if place.Cluster != id.Cluster || place.At.Number < was.At.Number {
		return errors.Join(errors.New("the database that another node gives does not continue this one"), join.Drop())
	}
	if _, err := join.Place(place); err != nil {
		return err
	}
	c.log.Warn("this node was struck out, and has joined again: what it had is kept", "folder", join.Aside, "up_to", was.At.Number)
	return nil
}
