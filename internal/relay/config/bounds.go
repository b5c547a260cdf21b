package config

import (
	"cmp"
	"time"
)

// Constants: bounds that are the same on every relay, whatever its memory.
const (
	Filters      = 16    // in one REQ, COUNT or query
	FilterValues = 2_000 // in one filter, over all its lists
	EventTags    = 4_000 // of one event; a follow list that fits into a message has fewer

	framesBurst = 10_000 // messages that one connection may send at once
	framesRate  = 2_000  // messages per second of one connection after that
	provedKeys  = 256    // pubkeys that one connection may prove (AUTH)

	HandshakeTime = 10 * time.Second // for the headers of a request, and for the websocket handshake
	AuthWindow    = 10 * time.Minute // |now − created_at| of an AUTH event (NIP-42)
	HTTPWindow    = time.Minute      // |now − created_at| of the event in an Authorization header (NIP-98)
	writeStall    = 10 * time.Second // without progress of a write before its client is cut off
	pingEvery     = 30 * time.Second // without a message before a client is pinged
	silence       = 75 * time.Second // without a byte, two missed pongs, before a client counts as gone
	linger        = time.Second      // for a client to answer the relay's close

	syncSessions = 2           // reconciliations of one connection: one runs while the next begins
	syncIdle     = time.Minute // without a message before a reconciliation ends

	StoreReaders  = 4     // reads of the database at a time, one of them kept for look-ups by id and address
	StoreMaxBatch = 1_024 // events that share one commit, and so one fsync
	SnapshotGC    = time.Hour
	SnapshotLock  = time.Minute // for another process that works on the same agent's snapshots

	defaultLimit = 500 // events for a filter without limit, if limits.max_limit permits as many
)

// IndexRows is the rate of rows in the tag index, one for each single-letter tag
// of an event, of one address and of one author.
var IndexRows = Rate{PerSecond: 5_000, Burst: 20_000}

// Bounds are what clients can make the relay hold or do: options as they are
// set, constants, and what follows from limits.memory. Sizes are bytes.
type Bounds struct {
	Connections   int // open at once
	PerAddress    int // open at once from one IPv4 address or IPv6 /64, four times as many from a /48; 0 is no bound
	MessageBytes  int // one message, after decompression
	Subscriptions int // open on one connection
	Keys          int // pubkeys that one connection may prove
	FramesBurst   int // frames that may come at once
	FramesRate    int // beyond the burst; above it the connection is not read
	DefaultLimit  int // events for a filter without limit

	LiveBytes int64 // held for the live filters of one connection
	LiveShare int64 // of one share
	LiveTotal int64 // of all; the share with most gives way

	WaitingFrames int   // read from one connection and not yet answered
	WaitingBytes  int   // memory of such frames, at least one is taken
	WaitingShare  int64 // memory of messages being read or not yet answered, of one share
	WaitingTotal  int64 // of all

	QueueMark   int   // bytes queued for one client above which no more answers are made
	QueueBytes  int   // bytes queued for one client above which live events cut it off
	QueueFrames int   // the same in frames
	QueueShare  int64 // bytes queued for one share above which those of it over their mark are cut off
	QueueTotal  int64 // bytes queued for all clients above which those over their mark are cut off

	HTTPRequests int // of proved callers, served at a time
	HTTPPerShare int // of these for one share

	Sync SyncBounds

	PingEvery time.Duration // between pings
	Silence   time.Duration // without a byte from the client after which it is gone
	Stall     time.Duration // a write without progress after which the client is cut off
	Linger    time.Duration // given to a client to answer our close
}

// SyncBounds bound reconciliations (NIP-77).
type SyncBounds struct {
	Off          bool          // none is served
	Sessions     int           // open on one connection
	Items        int           // events of one
	ReplicaItems int           // the same of one of a replica's
	Share        int64         // bytes of the sets of one share, replicas' not counted
	Total        int64         // of all; the share with most gives way, replicas never, who have half of it
	Idle         time.Duration // without a message after which one ends
}

// Memory that bounds follow: below the least they shrink no further, above the
// most they grow no further, and without a limit they are those of the default.
const (
	leastMemory   = 64 << 20
	defaultMemory = 1 << 30
	mostMemory    = 16 << 30
)

// boundsOf returns the bounds that follow from limits.memory, with the constants
// beside them. All are in proportion to the memory, so that together they stay
// within it (queue_total a half, sync a quarter, live an eighth, waiting a
// sixteenth), but for the floors that one client needs to be served at all.
func boundsOf(memory int64) Bounds {
	memory = min(max(cmp.Or(memory, defaultMemory), leastMemory), mostMemory)
	// of returns what is so much at 1 GiB, in whole MiB of memory.
	of := func(atGiB int64) int64 { return atGiB * (memory >> 20) / 1024 }
	b := Bounds{
		Keys: provedKeys, FramesBurst: framesBurst, FramesRate: framesRate,
		PingEvery: pingEvery, Silence: silence, Stall: writeStall, Linger: linger,

		// Bytes of filters, 1,536 for one and its length and 112 for each value. 1 MiB
		// holds a REQ of the default message size that is full of keys.
		LiveBytes: max(of(8<<20), 1<<20),
		LiveShare: of(32 << 20),
		LiveTotal: of(128 << 20),

		// Messages in number, for the pipelining of one client, and in bytes of memory.
		// 8 MiB hold the costliest message of 256 KiB, 29 bytes for each of its own.
		WaitingFrames: int(max(of(1_024), 256)),
		WaitingBytes:  int(max(of(1<<20), 256<<10)),
		WaitingShare:  max(of(8<<20), 8<<20),
		WaitingTotal:  max(of(64<<20), 16<<20),

		// Bytes and messages on their way to clients. 64 KiB keep a socket busy, 1 MiB
		// holds a few of the largest engrams, 4,096 messages a burst of live events.
		QueueMark:   int(max(of(256<<10), 64<<10)),
		QueueBytes:  int(max(of(8<<20), 1<<20)),
		QueueFrames: int(max(of(16_384), 4_096)),
		QueueShare:  of(128 << 20),
		QueueTotal:  of(512 << 20),

		// Requests in number: bodies and answers have a budget of their own. Above 1,024
		// they would wait for the processors.
		HTTPRequests: int(min(max(of(256), 32), 1_024)),

		// Events at 41 bytes each, and bytes: a full one of a client takes two thirds of
		// its share, a full one of a replica's a third of what replicas have.
		Sync: SyncBounds{
			Sessions: syncSessions, Idle: syncIdle, Items: int(of(250_000)), ReplicaItems: int(of(1_000_000)),
			Share: of(16 << 20), Total: of(256 << 20),
		},
	}
	b.HTTPPerShare = b.HTTPRequests / 8 // eight shares fill the relay
	return b
}

// Bounds returns the bounds in force. A message of limits.message_bytes fits into
// each of them.
func (c *Config) Bounds() Bounds {
	l, b := &c.Limits, boundsOf(c.Limits.Memory)
	b.Connections, b.PerAddress, b.MessageBytes, b.Subscriptions = l.Connections, l.ConnectionsPerAddress, l.MessageBytes, l.Subscriptions
	b.DefaultLimit = min(defaultLimit, l.MaxLimit)
	b.Sync.Off = !c.Sync.Serve
	b.WaitingBytes = max(b.WaitingBytes, l.MessageBytes)
	b.WaitingShare = max(b.WaitingShare, 8*int64(l.MessageBytes)) // an event or a REQ, parsed, with its buffers
	b.WaitingTotal = max(b.WaitingTotal, 2*b.WaitingShare)
	b.QueueBytes = max(b.QueueBytes, l.MessageBytes)
	return b
}

// mostMessageBytes is the largest limits.message_bytes: a 128th of the memory, as
// what is queued for one client, and 8 MiB in little memory.
func (c *Config) mostMessageBytes() int { return max(boundsOf(c.Limits.Memory).QueueBytes, 8<<20) }
