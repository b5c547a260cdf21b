package config

import (
	"math"
	"time"
)

// minMessageBytes lets an engram of the largest body through: 65,603 bytes of
// payload are 87,472 of base64, and the envelope and its tags come on top.
const minMessageBytes = 96 << 10

func (c *Config) limitOptions() []*Option {
	l := &c.Limits
	return []*Option{
		{"limits.message_bytes", "Largest message from a client. An engram of the largest body must fit.", true, sizeOf(&l.MessageBytes, 256<<10, minMessageBytes)},
		{"limits.subscriptions", "Open subscriptions of one connection.", true, num(&l.Subscriptions, 64, 1, maxInt)},
		{"limits.filters", "Filters in one REQ or COUNT.", true, num(&l.Filters, 16, 1, maxInt)},
		{"limits.filter_values", "Values in one filter, over all its lists.", true, num(&l.FilterValues, 2000, 1, maxInt)},
		{"limits.frames_burst", "Messages that one connection may send at once before frames_rate holds.", true, num(&l.FramesBurst, 10000, 1, maxInt)},
		{"limits.frames_rate", "Messages per second from one connection; above it the relay stops reading that connection for a while. 0 is no limit.", true, one(&l.FramesRate, 2000, rate())},
		{"limits.queue_frames", "Messages of one connection that are read ahead while earlier ones are worked on.", false, num(&l.QueueFrames, 1024, 1, 1<<20)},
		{"limits.inflight_bytes", "Bytes of messages of one connection that are read ahead while earlier ones are worked on.", false, sizeOf(&l.InflightBytes, 4<<20, 256<<10)},
		{"limits.queue_bytes", "Bytes waiting to be sent to one client above which its stored results pause.", false, sizeOf(&l.QueueBytes, 1<<20, 64<<10)},
		{"limits.live_bytes", "Bytes of live events waiting for one client; above it the client is cut off.", false, sizeOf(&l.LiveBytes, 16<<20, 256<<10)},
		{"limits.connections", "Open connections.", true, num(&l.Connections, 10000, 1, maxInt)},
		{"limits.connections_per_address", "Open connections from one address (IPv6: one /64). Loopback is exempt. 0 is no limit.", true, num(&l.ConnectionsPerAddress, 100, 0, maxInt)},
		{"limits.events_per_key", "Events per second from one author. 0 is no limit.", true, one(&l.EventsPerKey, 0, rate())},
		{"limits.events_per_key_burst", "Events that one author may send at once before events_per_key holds.", true, num(&l.EventsPerKeyBurst, 100, 1, maxInt)},
		{"limits.events_per_address", "Events per second from one address (IPv6: one /64). 0 is no limit.", true, one(&l.EventsPerAddress, 0, rate())},
		{"limits.events_per_address_burst", "Events that one address may send at once before events_per_address holds.", true, num(&l.EventsPerAddressBurst, 1000, 1, maxInt)},
		{"limits.author_bytes", "Bytes that one author may have stored, history included. 0 is no limit.", true, one(&l.AuthorBytes, 0, size[int64](0, math.MaxInt64))},
		{"limits.author_events", "Events that one author may have stored, history included. 0 is no limit.", true, one(&l.AuthorEvents, 0, whole[int64](0, math.MaxInt64))},
		{"limits.default_limit", "Events for a filter without limit.", true, num(&l.DefaultLimit, 500, 1, maxInt)},
		{"limits.max_limit", "Most events for one filter, whatever its limit says.", true, num(&l.MaxLimit, 5000, 1, maxInt)},
		{"limits.query_timeout", "Longest time for one read of the database; a request that needs longer is closed with error:.", true, dur(&l.QueryTimeout, 10*time.Second, 10*time.Millisecond, time.Hour)},
		{"limits.future", "How far ahead of the relay's clock created_at may be. Any age behind is accepted.", true, dur(&l.Future, 15*time.Minute, time.Second, 24*time.Hour)},
	}
}
