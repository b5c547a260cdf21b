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
		{"limits.frames_burst", "Messages that one connection may send at once before frames_rate holds. A change holds for new connections.", true, num(&l.FramesBurst, 10000, 1, maxInt)},
		{"limits.frames_rate", "Messages per second from one connection; above it the relay stops reading that connection for a while. A change holds for new connections.", true, num(&l.FramesRate, 2000, 1, maxInt)},
		{"limits.waiting_frames", "Messages of one connection that are read and not yet answered; above it the relay does not read on.", true, num(&l.WaitingFrames, 1024, 1, 1<<20)},
		{"limits.waiting_bytes", "The same in bytes; one message is always taken.", true, sizeOf(&l.WaitingBytes, 1<<20, 1)},
		{"limits.queue_mark", "Bytes waiting to be sent to one client above which its stored results pause.", true, sizeOf(&l.QueueMark, 256<<10, 4<<10)},
		{"limits.queue_bytes", "Bytes waiting to be sent to one client above which live events cut it off.", true, sizeOf(&l.QueueBytes, 8<<20, 256<<10)},
		{"limits.queue_frames", "Messages waiting to be sent to one client above which live events cut it off.", true, num(&l.QueueFrames, 16384, 1, maxInt)},
		{"limits.queue_total", "Bytes waiting for all clients together above which those over queue_mark are cut off.", true, one(&l.QueueTotal, 512<<20, size[int64](1<<20, math.MaxInt64))},
		{"limits.live_values", "Values in all live filters of one connection.", true, num(&l.LiveValues, 65536, 1, maxInt)},
		{"limits.live_total", "Values in all live filters of all connections; above it only small subscriptions are taken.", true, num(&l.LiveTotal, 1_000_000, 1, maxInt)},
		{"limits.event_tags", "Tags of one event. A follow list that fits into a message has fewer.", true, num(&l.EventTags, 4000, 1, maxInt)},
		{"limits.keys", "Pubkeys that one connection may prove (AUTH).", true, num(&l.Keys, 256, 1, maxInt)},
		{"limits.connections", "Open connections.", true, num(&l.Connections, 10000, 1, maxInt)},
		{"limits.connections_per_address", "Open connections from one address (IPv6: one /64). Loopback is exempt. 0 is no limit.", true, num(&l.ConnectionsPerAddress, 100, 0, maxInt)},
		{"limits.http_requests", "Signed HTTP requests answered at once; one more is 429 rate-limited:.", true, num(&l.HTTPRequests, 256, 1, maxInt)},
		{"limits.http_requests_per_address", "The same from one address (IPv6: one /64). Loopback and trusted proxies are exempt. 0 is no limit.", true, num(&l.HTTPPerAddress, 32, 0, maxInt)},
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
