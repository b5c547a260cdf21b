package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/cluster"
)

// ID is by which other connections find this one.
func (c *side) ID() string { return c.id }

// BeginAt is Begin at the node with a connection.
func (c *side) BeginAt(ctx context.Context, peer string) (from string, err error) {
	if _, err := c.live(peer); err != nil || len(peer) != len(c.id) {
		return "", ErrNoPeer
	}
	ctx, cancel := context.WithTimeout(ctx, chunkLimit)
	defer cancel()
	answer, err := c.nc.RequestWithContext(ctx, c.peers()+"."+peer+".begin", nil)
	if err != nil || len(answer.Data) != len(c.id) {
		return "", ErrNoPeer
	}
	return peer + "." + string(answer.Data), nil
}

// Whose returns which cluster the log is of, by its first message, and where it ends;
// the zero id if there is no stream, or an empty one.
func (c *Conn) Whose(ctx context.Context) (id cluster.ClusterID, last uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	first, last, err := c.Bounds(ctx)
	if missing(err) {
		return id, 0, nil
	}
	if err != nil || first > last {
		return id, last, err
	}
	err = c.Read(ctx, first, func(m cluster.Message) (err error) {
		id, err = cluster.Of(m.Data)
		return cmp.Or(err, errThere)
	})
	if errors.Is(err, errThere) {
		err = nil
	}
	return id, last, err
}

var errThere = errors.New("there")

// Grows reports whether a message enters behind a number while it looks: nodes that
// work say in each such time that they live.
func (c *Conn) Grows(ctx context.Context, last uint64, within time.Duration) (bool, error) {
	looking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := c.Read(looking, last+1, func(cluster.Message) error { return errThere })
	switch {
	case errors.Is(err, errThere):
		return true, nil
	case looking.Err() != nil && ctx.Err() == nil:
		return false, nil
	}
	return false, err
}

// Remove removes the stream with all that is in it, if there is one.
func (c *Conn) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	if err := c.js.DeleteStream(ctx, c.o.Stream); err != nil && !missing(err) {
		return fmt.Errorf("remove the stream %s, or have it removed by who may, and go on: %w", c.o.Stream, err)
	}
	c.created.Store(0) // the next one is another
	return nil
}
