package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
)

// The orders of engramd cluster to a running node.
const (
	orderConfigure = "cluster configure"
	orderRaise     = "cluster raise"
)

// clusterArgs are those of these orders.
type clusterArgs struct {
	Text   string `json:"text,omitempty"`
	Number uint64 `json:"number,omitempty"`
}

// errNotClustered answers orders to a relay that is alone.
var errNotClustered = errors.New("this relay is no node of a cluster")

func (c *process) clusterOrders() []control.Order {
	submit := func(ctx context.Context, command cluster.Command) (any, error) {
		node := c.cluster.node.Load()
		if node == nil {
			return nil, errNotClustered
		}
		answer, err := node.Submit(ctx, command)
		if err == nil && answer.Refused != "" {
			err = errors.New(answer.Refused)
		}
		return struct{}{}, err
	}
	return []control.Order{
		control.NewOrder(orderConfigure, func(ctx context.Context, a clusterArgs) (any, error) {
			command, err := c.proposed(a.Text)
			if err != nil {
				return nil, err
			}
			return submit(ctx, command)
		}),
		control.NewOrder(orderRaise, func(ctx context.Context, a clusterArgs) (any, error) {
			return submit(ctx, cluster.Raise{Version: a.Number})
		}),
	}
}

// settled are shared options that cannot change while nodes run: by the gate's
// rules stored events are classed, by its own names a relay knows what is meant
// for it, and the outbox is made for its targets at a start.
var settled = []string{"gate.rules", "public_url", "contracts.publish_to"}

// proposed makes the command that puts other shared options into force.
func (c *process) proposed(text string) (cluster.Configure, error) {
	node := c.cluster.node.Load()
	if node == nil {
		return cluster.Configure{}, errNotClustered
	}
	now, _ := node.Configuration()
	next, err := config.WithShared(config.Default(), text)
	if err != nil {
		return cluster.Configure{}, err
	}
	if fixed := fixedIn(next, now); len(fixed) > 0 {
		return cluster.Configure{}, fmt.Errorf("%s cannot change while nodes run: leave and begin again (docs/cluster.md)", strings.Join(fixed, ", "))
	}
	live, err := daemonLive(next)
	return cluster.Configure{Text: text, Live: live}, err
}

// fixedIn lists the settled options in which a configuration differs from what
// the nodes share now.
func fixedIn(next *config.Config, now string) (fixed []string) {
	for _, key := range config.SharedDiff(next, now) {
		if slices.Contains(settled, key) {
			fixed = append(fixed, key)
		}
	}
	return fixed
}

// fail has the process end: it cannot go on as the other nodes do.
func (c *process) fail(err error) {
	select {
	case c.failed <- err:
	default:
		c.log.Error("this node ends", "err", err)
	}
}

// tell has a running node give the command.
func (c *clusterCommand) tell(ctx context.Context) error {
	args := clusterArgs{Number: c.number}
	name := orderRaise
	if c.verb == "configure" {
		name, args.Text = orderConfigure, config.SharedText(c.cfg)
	}
	lock, err := lockFolder(c.cfg.Data)
	if errors.Is(err, errFolderInUse) {
		_, err = control.Ask(ctx, c.cfg.Data, name, args)
		return err
	}
	if err != nil {
		return err
	}
	return errors.Join(errors.New("no relay runs with this data folder, through which the nodes could be told"), lock.Unlock())
}

// void tells the log what is to be skipped: the command before which this node
// stands, that is, the next one. A node that runs has executed it.
func (c *clusterCommand) void(ctx context.Context) error {
	if _, err := readIdentity(c.cfg.Data); err != nil {
		return err
	}
	place, err := placeOf(ctx, databaseFile(c.cfg.Data))
	if err != nil {
		return err
	}
	next := place.At.Number < c.number
	if place.At.Number == c.number && !place.Whole {
		next = c.index > place.At.Index
	}
	if !next {
		return fmt.Errorf("this node has executed the log up to message %d, command %d: what it has executed cannot be skipped", place.At.Number, place.At.Index)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, last, err := conn.Bounds(ctx); err != nil {
		return err
	} else if c.number > last {
		return fmt.Errorf("the log ends at message %d", last)
	}
	id, err := nextBoot(c.cfg.Data)
	if err != nil {
		return err
	}
	return say(ctx, conn, id, cluster.Join{Name: nodeName(c.cfg), Version: clusterVersion}, cluster.Void{Number: c.number, Index: c.index})
}

// nodeName is how people know a node.
func nodeName(cfg *config.Config) string {
	name := cfg.Cluster.Name
	if name == "" {
		name, _ = os.Hostname()
	}
	return strings.ToValidUTF8(name[:min(len(name), 64)], "")
}
