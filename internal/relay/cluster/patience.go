package cluster

import (
	"context"
	"time"
)

// lose tells the senders of commands that are not known to be in the log after
// the time of patience. What they sent goes on trying.
func (n *Node) lose(ctx context.Context) {
	tick := time.NewTicker(n.o.Patience / 8)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range n.lost() {
			p.fail(ErrUnknown)
		}
	}
}

func (n *Node) lost() (out []*pending) {
	now := n.o.Clock()
	n.mu.Lock()
	defer n.mu.Unlock()
	i := 0
	for ; i < len(n.patience); i++ {
		p := n.patience[i]
		if p.read {
			continue
		}
		if now.Sub(p.since) < n.o.Patience {
			break
		}
		out = append(out, p)
	}
	clear(n.patience[:i])
	n.patience = n.patience[i:]
	return out
}
