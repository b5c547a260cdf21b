package daemon

import (
	"cmp"
	"context"
	"errors"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/store/sqlite"
)

// join makes the node that goes on behind what the database has executed, under
// the options that its nodes share. Nothing is executed before run.
func (m *member) join(ctx context.Context, cfg *config.Config, s *sqlite.Store, r *rules) error {
	if m.leading.alone() {
		return nil
	}
	state, err := s.SequenceState(ctx)
	if err != nil {
		return err
	}
	place := cluster.Place{Cluster: m.me.Cluster}
	if state != nil {
		if place, err = cluster.Inspect(state); err != nil {
			return err
		}
	}
	if err := m.begun(state != nil); err != nil {
		return err
	}
	if state == nil { // every log begins with what engramd cluster init said
		if _, last, err := m.conn.Bounds(ctx); err != nil || last == 0 {
			return cmp.Or(err, errors.New("the log is empty: engramd cluster init was interrupted; engramd cluster leave, and then init once more"))
		}
	}
	shared, text := cfg, place.Configuration
	if text != "" { // the options that all nodes share are as the cluster says
		if shared, err = config.WithShared(cfg, text); err != nil {
			return err
		}
	}
	r.shared.set(shared, text)
	past, err := membership.OpenPast(m.dir)
	if err != nil {
		return err
	}
	m.past = past
	node, err := cluster.New(cluster.Options{
		Log: m.conn, ClusterID: m.me.Cluster, NodeID: m.me.Node, Name: m.name, Boot: m.me.Boot, Version: membership.Version,
		State: state, Executor: s, Clock: m.machine, Confirmed: m.clock.Confirmed, Trusts: m.clock.Trusts,
		Logger: m.log, Observe: m.metrics.ClusterLog, Configured: r.configured,
		Ask: func(question []byte) { m.say(readQuestions, question) }, Faults: clusterFaults(m.env), Past: past,
	})
	if err != nil {
		return err
	}
	m.metrics.WatchCluster(m.figures)
	m.node.Store(node)
	s.Join(node)
	return nil
}

// checked returns when the log is as it must be. A first node makes it, once its servers
// are there, unless engramd cluster init has.
func (m *member) checked(ctx context.Context, cfg *config.Config) error {
	if !m.me.Fresh {
		return m.conn.Check(ctx)
	}
	for {
		last, err := membership.Prepare(ctx, m.conn)
		switch {
		case err == nil && last == 0:
			begins := m.me
			if m.me, err = membership.NextBoot(m.dir); err == nil {
				err = membership.Begin(ctx, m.conn, begins, cfg, m.machine())
			}
			return err
		case err == nil, errors.Is(err, jetstream.ErrRefused), ctx.Err() != nil:
			return err
		}
		m.log.Info("waiting for the log, whose servers must run on all machines", "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// begun refuses a database that has executed nothing where the node has: it is
// another one, and what the log says would be executed on the wrong rows.
func (m *member) begun(executed bool) error {
	switch {
	case executed && m.me.Fresh:
		m.me.Fresh = false
		return m.me.Save(m.dir)
	case !executed && !m.me.Fresh:
		return errors.New("the database has executed nothing of the log, and this node had: it was lost or replaced; engramd cluster rejoin has it join again")
	}
	return nil
}
