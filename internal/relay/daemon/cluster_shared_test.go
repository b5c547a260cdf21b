package daemon

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
)

// during is a log that calls a function for each line.
type during struct {
	slog.Handler
	fn func()
}

func (d during) Handle(context.Context, slog.Record) error { d.fn(); return nil }
func (d during) Enabled(context.Context, slog.Level) bool  { return true }

// noLog is a log that nothing enters.
type noLog struct{ cluster.Log }

func (noLog) MaxMessage() int { return 1 << 20 }

// Shared options that cannot be put into force end the node before it executes
// anything under them, and no reload can come in between.
func TestSharedOptionsThatCannotBe(t *testing.T) {
	node, err := cluster.New(cluster.Options{ClusterID: cluster.ClusterID{1}, NodeID: cluster.NodeID{1}, Boot: 1, Log: noLog{}})
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(Options{Config: config.Default(), Stderr: io.Discard})
	c, free := &p.rules, 0
	c.log = slog.New(during{slog.DiscardHandler, func() {
		if c.shared.turn.TryLock() {
			c.shared.turn.Unlock()
			free++
		}
	}})
	c.member.node.Store(node)
	text := config.SharedText(config.Default())
	c.shared.set(config.Default(), text)
	c.configured(text)
	if node.Err() != nil {
		t.Fatalf("what is in force already: %v", node.Err())
	}
	c.configured("no.such = 1\n")
	if node.Err() == nil {
		t.Error("the node goes on")
	}
	if _, now := c.shared.now(); now != text || free > 0 {
		t.Errorf("it has %q, %d lines outside of its turn", now, free)
	}
}
