package websocket

import "time"

// Limits bound what one client, and all of them together, can make the relay
// hold or do. A zero field means the default named beside it; a negative
// Connections or PerAddress means no bound.
type Limits struct {
	Connections int // open at once; 10,000
	PerAddress  int // open at once from one IPv4 address or IPv6 /64, four times as many from a /48; 100

	MessageBytes  int // one message, after decompression; 262,144
	Subscriptions int // open on one connection; 64
	Filters       int // in one REQ or COUNT; 16
	FilterValues  int // in all lists of one filter; 2,000
	Keys          int // pubkeys that one connection may prove; 256
	FramesBurst   int // frames that may come at once; 10,000
	FramesRate    int // beyond the burst; above it the connection is not read; 2,000

	LiveBytes int64 // held for the live filters of one connection; 8 MiB
	LiveShare int64 // of one share; 32 MiB
	LiveTotal int64 // of all; who has most gives way; 128 MiB

	WaitingFrames int // read from one connection and not yet answered; 1,024
	WaitingBytes  int // memory of such frames, at least one is taken; 1 MiB

	WaitingShare int64 // memory of messages being read or not yet answered, of one share; 8 MiB
	WaitingTotal int64 // of all; 64 MiB

	QueueMark   int   // bytes queued for one client above which no more answers are made; 256 KiB
	QueueBytes  int   // bytes queued for one client above which live events cut it off; 8 MiB
	QueueFrames int   // the same in frames; 16,384
	QueueShare  int64 // bytes queued for one share above which those of it over their mark are cut off; 128 MiB
	QueueTotal  int64 // bytes queued for all clients above which those over their mark are cut off; 512 MiB

	Sync SyncLimits

	PingEvery time.Duration // between pings; 30 s
	Silence   time.Duration // without a byte from the client after which it is gone; 75 s
	Stall     time.Duration // a write without progress after which the client is cut off; 10 s
	Handshake time.Duration // to take the answer to an upgrade; 10 s
	Linger    time.Duration // given to a client to answer our close; 1 s
}

// SyncLimits bound reconciliations (NIP-77). A zero field means the default
// named beside it.
type SyncLimits struct {
	Off          bool          // none is served
	Sessions     int           // open on one connection; 2
	Items        int           // events of one; 250,000
	ReplicaItems int           // the same of one of a replica's; 1,000,000
	Share        int64         // bytes of the sets of one share, replicas' not counted; 16 MiB
	Total        int64         // of all; who has most gives way, replicas never, who have half of it; 256 MiB
	Idle         time.Duration // without a message after which one ends; 60 s
}

// withDefaults fills what is zero.
func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&l.Connections, 10_000}, {&l.PerAddress, 100},
		{&l.MessageBytes, 256 << 10}, {&l.Subscriptions, 64}, {&l.Filters, 16}, {&l.FilterValues, 2_000},
		{&l.Keys, 256}, {&l.FramesBurst, 10_000}, {&l.FramesRate, 2_000},
		{&l.WaitingFrames, 1_024}, {&l.WaitingBytes, 1 << 20},
		{&l.QueueMark, 256 << 10}, {&l.QueueBytes, 8 << 20}, {&l.QueueFrames, 16_384},
		{&l.Sync.Sessions, 2}, {&l.Sync.Items, 250_000}, {&l.Sync.ReplicaItems, 1_000_000},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	for _, f := range []struct{ field, value *time.Duration }{
		{&l.PingEvery, new(30 * time.Second)}, {&l.Silence, new(75 * time.Second)},
		{&l.Stall, new(10 * time.Second)}, {&l.Handshake, new(10 * time.Second)}, {&l.Linger, new(time.Second)},
		{&l.Sync.Idle, new(time.Minute)},
	} {
		if *f.field == 0 {
			*f.field = *f.value
		}
	}
	for _, f := range []struct {
		field *int64
		value int64
	}{
		{&l.LiveBytes, 8 << 20}, {&l.LiveShare, 32 << 20}, {&l.LiveTotal, 128 << 20},
		{&l.WaitingShare, 8 << 20}, {&l.WaitingTotal, 64 << 20}, {&l.QueueShare, 128 << 20}, {&l.QueueTotal, 512 << 20},
		{&l.Sync.Share, 16 << 20}, {&l.Sync.Total, 256 << 20},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// hardCap returns the size of a message that ends the connection instead of
// being read to its end and answered.
func (l *Limits) hardCap() int { return 8 * l.MessageBytes }

// One page of stored events holds at most these rows and bytes, unless a single
// event is larger.
const (
	pageRows  = 128
	pageBytes = 256 << 10
)
