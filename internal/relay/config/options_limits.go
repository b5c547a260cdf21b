package config

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"time"
)

// minMessageBytes lets an engram of the largest body through: 65,603 bytes of
// payload are 87,472 of base64, and the envelope and its tags come on top.
const minMessageBytes = 96 << 10

func (c *Config) limitOptions() []*declared {
	l := &c.Limits
	return []*declared{
		{"limits.message_bytes", "Largest message from a client. An engram of the largest body must fit.", true, sizeOf(&l.MessageBytes, 256<<10, minMessageBytes)},
		{"limits.subscriptions", "Open subscriptions of one connection.", true, num(&l.Subscriptions, 64, 1, maxInt)},
		{"limits.filters", "Filters in one REQ or COUNT.", true, num(&l.Filters, 16, 1, maxInt)},
		{"limits.filter_values", "Values in one filter, over all its lists.", true, num(&l.FilterValues, 2000, 1, maxInt)},
		{"limits.frames_burst", "Messages that one connection may send at once before frames_rate holds. A change holds for new connections.", true, num(&l.FramesBurst, 10000, 1, maxInt)},
		{"limits.frames_rate", "Messages per second from one connection; above it the relay stops reading that connection for a while. A change holds for new connections.", true, num(&l.FramesRate, 2000, 1, maxInt)},
		{"limits.waiting_frames", "Messages of one connection that are read and not yet answered; above it the relay does not read on.", true, num(&l.WaitingFrames, 1024, 1, 1<<20)},
		{"limits.waiting_bytes", "The same in bytes of memory; one message is always taken.", true, sizeOf(&l.WaitingBytes, 1<<20, 1)},
		{"limits.waiting_bytes_per_share", "Memory for messages of one address or known key (docs/operating.md) that are being read, or read and not yet answered; above it the relay does not read on.", true, bytesOf(&l.WaitingBytesPerShare, 8<<20)},
		{"limits.waiting_bytes_total", "The same for all. When others wait, the connection that holds most and gets nothing done for a second is cut off.", true, bytesOf(&l.WaitingBytesTotal, 64<<20)},
		{"limits.queue_mark", "Bytes waiting to be sent to one client above which its stored results pause.", true, sizeOf(&l.QueueMark, 256<<10, 4<<10)},
		{"limits.queue_bytes", "Bytes waiting to be sent to one client above which live events cut it off.", true, sizeOf(&l.QueueBytes, 8<<20, 256<<10)},
		{"limits.queue_frames", "Messages waiting to be sent to one client above which live events cut it off.", true, num(&l.QueueFrames, 16384, 1, maxInt)},
		{"limits.queue_per_share", "Bytes waiting for the clients of one address or known key (docs/operating.md, Shares) above which those of them over queue_mark are cut off.", true, one(&l.QueueShare, 128<<20, size[int64](1<<20, math.MaxInt64))},
		{"limits.queue_total", "Bytes waiting for all clients together above which those over queue_mark are cut off.", true, one(&l.QueueTotal, 512<<20, size[int64](1<<20, math.MaxInt64))},
		{"limits.live_bytes", "Memory for the filters of all open subscriptions of one connection: 1,536 for one filter, and for each value its length and 112 more.", true, bytesOf(&l.LiveBytes, 8<<20)},
		{"limits.live_bytes_per_share", "The same for one address or known key (docs/operating.md, Shares).", true, bytesOf(&l.LiveBytesPerShare, 32<<20)},
		{"limits.live_bytes_total", "The same for all. When it is reached, the client that holds most gives way to one that asks for little: its largest subscription is closed with error:.", true, bytesOf(&l.LiveBytesTotal, 128<<20)},
		{"limits.memory", "Soft limit of the process's memory. The nearer it is, the harder garbage is collected; above nine tenths, garbage not counted, REQ and COUNT are closed with error:. GOMEMLIMIT in the environment takes precedence. 0 is no limit.", true, one(&l.Memory, 1<<30, orNone(size[int64](64<<20, math.MaxInt64)))},
		{"limits.event_tags", "Tags of one event. A follow list that fits into a message has fewer.", true, num(&l.EventTags, 4000, 1, maxInt)},
		{"limits.keys", "Pubkeys that one connection may prove (AUTH).", true, num(&l.Keys, 256, 1, maxInt)},
		{"limits.connections", "Open connections.", true, num(&l.Connections, 10000, 1, maxInt)},
		{"limits.connections_per_address", "Open connections from one address (IPv6: one /64, and four times as many from one /48). Loopback is exempt as limits.loopback_exempt says. 0 is no limit.", true, num(&l.ConnectionsPerAddress, 100, 0, maxInt)},
		{"limits.loopback_exempt", "Loopback peers are free of rates, budgets and bounds per address while every public_url is a loopback one. With another public_url and no proxy.trusted, loopback and private peers cannot be told apart and have one budget together. false: each loopback address counts as any other address.", true, onOff(&l.LoopbackExempt, true)},
		{"limits.http_requests", "HTTP requests of proved callers that the relay works on at once. Others wait for their turn, by share, for up to 5s; then they are answered 429 rate-limited:. Callers without proof have an eighth of as many places, and management has its own.", true, num(&l.HTTPRequests, 256, 1, maxInt)},
		{"limits.http_requests_per_address", "The same of one share: a known key, an IPv4 address or an IPv6 /48. A share never has more than it leaves for others. Loopback peers, and proxies that do not say for whom they ask, are exempt. 0 is no limit.", true, num(&l.HTTPPerAddress, 32, 0, maxInt)},
		{"limits.events_per_key", "Events per second from one author. 0 is no limit. An ephemeral event counts for its author if the sender has proved the author's key, else for the author at that address only, because anybody may send it once more.", true, one(&l.EventsPerKey, 0, rate())},
		{"limits.events_per_key_burst", "Events that one author may send at once before events_per_key holds.", true, num(&l.EventsPerKeyBurst, 100, 1, maxInt)},
		{"limits.events_per_address", "Events per second from one address (IPv6: one /48), or from one key that has been known for a day. Exempt: loopback while every public URL is a loopback one, imports and restores. 0 is no limit.", true, one(&l.EventsPerAddress, 500, rate())},
		{"limits.events_per_address_burst", "Events that one address may send at once before events_per_address holds.", true, num(&l.EventsPerAddressBurst, 20_000, 1, maxInt)},
		{"limits.index_rows", "Rows of the tag index per second (one for each single-letter tag of an event) from one address, and from one author; exempt as for events_per_address. An event is never indexed in part: one over the rate is answered rate-limited:. 0 is no limit.", true, one(&l.IndexRows, 5000, rate())},
		{"limits.index_rows_burst", "Rows of the tag index that one address or author may make at once before index_rows holds.", true, num(&l.IndexRowsBurst, 20_000, 1, maxInt)},
		{"limits.author_bytes", "Bytes that one author may have stored, history included. 0 is no limit. The default does not bind authors who are above it already, by an import or from before; a configured limit binds everybody.", true, one(&l.AuthorBytes, 1<<30, size[int64](0, math.MaxInt64))},
		{"limits.author_events", "Events that one author may have stored, history included. 0 is no limit. The default binds as that of author_bytes does.", true, one(&l.AuthorEvents, 100_000, whole[int64](0, math.MaxInt64))},
		{"limits.default_limit", "Events for a filter without limit.", true, num(&l.DefaultLimit, 500, 1, maxInt)},
		{"limits.max_limit", "Most events for one filter, whatever its limit says.", true, num(&l.MaxLimit, 5000, 1, maxInt)},
		{"limits.query_timeout", "Most work of one read of the database, as the time it takes alone; counts and searches also end by the clock. A request that needs more is closed with error:.", true, dur(&l.QueryTimeout, 10*time.Second, 10*time.Millisecond, time.Hour)},
		{"limits.future", "How far ahead of the relay's clock created_at may be. Any age behind is accepted.", true, dur(&l.Future, 15*time.Minute, time.Second, 24*time.Hour)},
	}
}

func (c *Config) contractOptions() []*declared {
	k := &c.Contracts
	return []*declared{
		{"contracts.master_key", `Where the key is that seals private entries and provisioned keys: "auto" is the file master.key in the data folder, made at the first start; a path names a file with 64 hex digits; "env:NAME" names an environment variable that has them; "off" does without, and private entries and provisioning answer 503. Keep a copy with the backups.`, false,
			one(&k.MasterKey, "auto", keyPlace("auto, off, path or env:NAME"))},
		{"contracts.publish_to", "Further relays that contract events written over the API are published to. An event that one of them does not take is sent again until it does.", false,
			many(&k.PublishTo, relayURL())},
		{"contracts.any_id", "Take contracts under any id. Otherwise a new one needs an id that nobody can guess, a UUID or at least 32 hex digits, because whoever names a contract may read the entries shared in it.", true,
			onOff(&k.AnyID, false)},
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// keyPlace takes the place of a secret key, and never the key itself: flags and
// configuration files are seen by others.
func keyPlace(words string) elem[string] {
	e := text(func(s string) error {
		name, env := strings.CutPrefix(s, "env:")
		switch {
		case s == "":
			return errEmpty
		case hexKey.MatchString(strings.ToLower(s)):
			return errors.New("this is a key itself: put it into a file or an environment variable, and treat it as known to others")
		case env && !envName.MatchString(name):
			return errors.New("env: must be followed by the name of an environment variable")
		case env && strings.HasPrefix(name, envPrefix):
			return errors.New("env: must not name an option of engramd (" + envPrefix + "…)")
		}
		return nil
	})
	e.one = words
	return e
}
