package cluster

import (
	"context"
	"slices"
	"time"
)

const (
	keepEvery  = time.Second
	beatEvery  = 5 * time.Second
	renewEvery = 3 * time.Second
	trimEvery  = time.Minute
)

// keeper gives the commands that a node gives of itself, each kind only once the
// last one of it was read: nothing piles up while the log is away.
type keeper struct {
	*Node
	away          map[byte]*pending
	beat, renewed time.Time
}

// keep says that the node lives, keeps the lease or tries for it, reports
// hashes, strikes out who was not heard and trims the log.
func keep(ctx context.Context, n *Node) {
	k := keeper{Node: n, away: make(map[byte]*pending)}
	every(ctx, keepEvery, func() {
		for _, c := range k.due() {
			p, err := n.o.prepare(item{own: c})
			if err == nil {
				err = n.push(ctx, p)
			}
			if err != nil {
				return // the node has ended
			}
			k.away[c.kind()] = p
		}
	})
}

// every does something again and again until ctx ends.
func every(ctx context.Context, d time.Duration, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// due returns what is to be said now.
func (k *keeper) due() (out []Command) {
	now, steady, confirmed := k.o.Clock(), time.Now(), k.o.Confirmed()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.again(steady) {
		k.signals.give()
	}
	if !k.announced {
		return nil
	}
	say := func(c Command) bool {
		if p := k.away[c.kind()]; p != nil && !p.read {
			return false
		}
		out = append(out, c)
		return true
	}
	if now.Sub(k.beat) >= beatEvery && say(Heartbeat{Version: k.o.Version, Durable: reported(k.Node)}) {
		k.beat = now
	}
	reports := chain{checks: k.durable.chain.checks, reports: k.seen.chain.reports}
	if list := reports.unreported(k.o.NodeID); len(list) > 0 {
		say(Report{Count: list[0].count, Hash: list[0].hash})
	}
	log, lease := k.clock(now).UnixNano(), k.seen.lease
	switch mine := lease.epoch > 0 && lease.holder == k.o.NodeID; {
	case !k.fit(now):
	case mine && lease.boot == k.o.Boot:
		if now.Sub(k.renewed) >= renewEvery && say(Lease{Epoch: lease.epoch}) {
			k.renewed = now
		}
	case mine, log >= lease.until: // of a boot before, or of nobody
		say(Lease{Epoch: lease.epoch + 1})
	}
	if id, found := k.gone(log, confirmed && k.fit(now), steady); found {
		say(Strike{Node: id})
	}
	return out
}

// gone returns a member that is to be struck out, if this node leads.
func (k *keeper) gone(log int64, may bool, steady time.Time) (id NodeID, found bool) {
	epoch := uint64(0)
	if may && k.seen.leads(k.o.NodeID, k.o.Boot, log) {
		epoch = k.seen.lease.epoch
	}
	if !k.o.Faults.StrikeByStamps {
		return k.unheard(epoch, k.seen.members, &k.o, steady)
	}
	i := slices.IndexFunc(k.seen.members, func(m member) bool { return log-m.heard >= int64(strikeTime) })
	if epoch == 0 || i < 0 {
		return id, false
	}
	return k.seen.members[i].id, true
}

// trim trims the log now and then.
func trim(ctx context.Context, n *Node) {
	every(ctx, trimEvery, func() {
		if err := n.Trim(ctx); err != nil && ctx.Err() == nil {
			n.o.Logger.Warn("the log could not be trimmed", "err", err)
		}
	})
}

// Trim removes from the log what all members have made durable and what came
// more than an hour ago, if this node leads.
func (n *Node) Trim(ctx context.Context) error {
	if !n.Leads() || !n.o.Confirmed() {
		return nil
	}
	n.mu.Lock()
	below := n.seen.trimmable()
	n.mu.Unlock()
	if below <= 1 {
		return nil
	}
	return n.log.Trim(ctx, below)
}
