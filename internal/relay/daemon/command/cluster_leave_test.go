package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// shortLog is a log of one node that takes a few messages.
type shortLog struct {
	messages chan cluster.Message
	last     uint64 // the node's sender alone appends
}

func (l *shortLog) Append(message []byte, done func(uint64, error)) {
	l.last++
	l.messages <- cluster.Message{Number: l.last, At: time.Now(), Data: message}
	done(l.last, nil)
}

func (l *shortLog) Read(ctx context.Context, _ uint64, fn func(cluster.Message) error) error {
	for {
		select {
		case m := <-l.messages:
			if err := fn(m); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *shortLog) Bounds(context.Context) (first, last uint64, err error) { return 1, 0, nil }
func (l *shortLog) Trim(context.Context, uint64) error                     { return nil }
func (l *shortLog) MaxMessage() int                                        { return 1 << 20 }

// nodeFolder makes a data folder of a node that has executed something.
func nodeFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := engine.PrepareDir(dir); err != nil {
		t.Fatal(err)
	}
	id := membership.Identity{Cluster: cluster.ClusterID{1}, Node: cluster.NodeID{2}, Boot: 1}
	if err := id.Save(dir); err != nil {
		t.Fatal(err)
	}
	table, err := wiring.Table(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Options: engine.Options{Path: engine.File(dir)}, Table: table, Sequenced: true})
	if err != nil {
		t.Fatal(err)
	}
	node, err := cluster.New(cluster.Options{Log: &shortLog{messages: make(chan cluster.Message, 16)}, ClusterID: id.Cluster, NodeID: id.Node, Boot: 1, Version: 1, Executor: s})
	if err != nil {
		t.Fatal(err)
	}
	s.Join(node)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = node.Run(ctx)
	}()
	if _, err := node.Submit(t.Context(), cluster.Heartbeat{Version: 1}); err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A leave that was interrupted can be repeated, and until then the database is
// not taken for one that has executed nothing.
func TestLeaveHalfWay(t *testing.T) {
	for name, interrupted := range map[string]bool{"whole": false, "half-way": true} {
		t.Run(name, func(t *testing.T) {
			dir := nodeFolder(t)
			cfg := config.Default()
			cfg.Data = dir
			c := &clusterCommand{base: base{Main: &Main{Stderr: io.Discard}, cfg: cfg}}
			file := filepath.Join(dir, membership.File)
			if interrupted {
				path := engine.File(dir)
				aside := path + ".aside"
				if err := errors.Join(os.Rename(path, aside), os.Mkdir(path, 0o700)); err != nil {
					t.Fatal(err)
				}
				if err := c.leave(t.Context()); err == nil {
					t.Fatal("it was not interrupted")
				}
				if err := errors.Join(os.Remove(path), os.Rename(aside, path)); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("it is a node's still: %v", err)
				}
			}
			if err := c.leave(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := membership.PlaceOf(t.Context(), engine.Options{Path: engine.File(dir)}); err == nil {
				t.Error("it has a place in a log still")
			}
			if err := c.leave(t.Context()); !errors.Is(err, membership.ErrNone) {
				t.Errorf("once more: %v", err)
			}
		})
	}
}
