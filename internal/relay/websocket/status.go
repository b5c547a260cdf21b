package websocket

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Status is who is connected at one moment, without a key, an id or anything of
// what is asked.
type Status struct {
	Connections   int             `json:"connections"`
	Limit         int             `json:"limit"` // limits.connections; negative is none
	Subscriptions int64           `json:"subscriptions"`
	Syncs         int             `json:"syncs"`          // reconciliations (NIP-77)
	SyncBytes     int64           `json:"sync_bytes"`     // of memory
	Waiting       int64           `json:"waiting_bytes"`  // for all clients
	Behind        int             `json:"behind"`         // connections with events still to be held against their filters
	BehindFor     float64         `json:"behind_seconds"` // how long the oldest of those waits
	Addresses     []AddressStatus `json:"addresses"`      // those with most connections
	AddressCount  int             `json:"address_count"`  // of all
	Busiest       []ConnStatus    `json:"busiest"`        // connections for which most waits, then those with most traffic
}

// AddressStatus sums up the connections of one address.
type AddressStatus struct {
	Address       string   `json:"address"`
	Connections   int      `json:"connections"`
	Who           []string `json:"who,omitempty"` // tags of proved keys, some of them
	Subscriptions int64    `json:"subscriptions"`
	Waiting       int64    `json:"waiting_bytes"`
	BytesIn       int64    `json:"bytes_in"`
	BytesOut      int64    `json:"bytes_out"`
}

// ConnStatus is one connection. Its number is that in the log.
type ConnStatus struct {
	Number        uint64  `json:"conn"`
	Address       string  `json:"address"`
	Who           string  `json:"who"` // tags of proved keys, "nobody" for none
	Seconds       float64 `json:"seconds"`
	Subscriptions int64   `json:"subscriptions"`
	Filters       int64   `json:"filter_bytes"` // of memory
	Syncs         int     `json:"syncs"`
	SyncBytes     int64   `json:"sync_bytes"`    // of memory
	Unread        int     `json:"unread_frames"` // that it sent, and are not answered
	Waiting       int64   `json:"waiting_bytes"` // that it has not taken
	FramesIn      int64   `json:"frames_in"`
	FramesOut     int64   `json:"frames_out"`
	BytesIn       int64   `json:"bytes_in"`
	BytesOut      int64   `json:"bytes_out"`
}

// maxWho bounds the tags of one address.
const maxWho = 4

// Status looks at every connection, and tells of top addresses and connections.
func (s *Server) Status(top int) Status {
	s.mu.Lock()
	conns := slices.Collect(maps.Keys(s.conns))
	s.mu.Unlock()
	out := Status{Connections: len(conns), Limit: s.limits.Load().Connections, Waiting: s.queued.Load()}
	out.Behind, out.BehindFor = s.behind.status(s.o.Now())
	byAddr := map[string]*AddressStatus{}
	all := make([]ConnStatus, 0, len(conns))
	for _, c := range conns {
		cs := c.status(s.o.Now())
		all = append(all, cs)
		out.Subscriptions += cs.Subscriptions
		out.Syncs, out.SyncBytes = out.Syncs+cs.Syncs, out.SyncBytes+cs.SyncBytes
		a := byAddr[cs.Address]
		if a == nil {
			a = &AddressStatus{Address: cs.Address}
			byAddr[cs.Address] = a
		}
		a.add(&cs)
	}
	out.AddressCount = len(byAddr)
	for _, a := range slices.SortedFunc(maps.Values(byAddr), func(a, b *AddressStatus) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Address, b.Address))
	})[:min(top, len(byAddr))] {
		out.Addresses = append(out.Addresses, *a)
	}
	slices.SortFunc(all, func(a, b ConnStatus) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.BytesIn+b.BytesOut, a.BytesIn+a.BytesOut), cmp.Compare(a.Number, b.Number))
	})
	out.Busiest = all[:min(top, len(all))]
	return out
}

func (a *AddressStatus) add(c *ConnStatus) {
	a.Connections++
	a.Subscriptions += c.Subscriptions
	a.Waiting += c.Waiting
	a.BytesIn += c.BytesIn
	a.BytesOut += c.BytesOut
	if c.Who != nobody && len(a.Who) < maxWho && !slices.Contains(a.Who, c.Who) {
		a.Who = append(a.Who, c.Who)
	}
}

func (c *conn) status(now time.Time) ConnStatus {
	r := &c.record
	syncs, syncBytes := c.syncs.count()
	return ConnStatus{
		Number: r.number, Address: r.addr.String(), Who: r.who(), Seconds: now.Sub(r.opened).Round(time.Millisecond).Seconds(),
		Subscriptions: int64(len(c.feed.list())), Filters: c.filters.Used(), Syncs: syncs, SyncBytes: syncBytes,
		Unread: c.in.waiting(), Waiting: c.out.waiting(),
		FramesIn: r.framesIn.Load(), FramesOut: r.framesOut.Load(), BytesIn: c.net.in.Load(), BytesOut: c.net.out.Load(),
	}
}

// status returns how many connections are behind, and for how many seconds.
func (b *behind) status(now time.Time) (feeds int, seconds float64) {
	if f := b.furthest(); f != nil {
		if at, waits := f.waitsSince(); waits {
			seconds = now.Sub(at).Seconds()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.feeds), seconds
}

// waiting returns how many messages are not answered yet.
func (b *inbox) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.frames
}

// waiting returns how many bytes the client has not taken yet.
func (b *outbox) waiting() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.bytes + b.kept)
}

// The queues whose depth is counted.
const (
	queueVerify = "verify"                // EVENTs waiting for the pool
	queueOut    = "connections_out_bytes" // bytes in all outboxes
)

// countQueued brings the gauge of queued bytes up to date.
func (s *Server) countQueued() {
	now := s.queued.Load()
	if was := s.queuedSeen.Swap(now); now != was {
		s.o.Metrics.QueueAdd(queueOut, int(now-was))
	}
}
