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

func (c *Config) limitOptions() []*Option {
	l := &c.Limits
	return []*Option{
		{"limits.message_bytes", "Largest message from a client. A larger one is refused with invalid:, and beyond eight times the size its connection is closed. The largest engram must fit, and a 128th of limits.memory bounds it above 8 MiB. Raise it for clients with long lists.", true, sizeOf(&l.MessageBytes, 256<<10, minMessageBytes)},
		{"limits.subscriptions", "Open subscriptions of one connection. One more is refused with CLOSED. Raise it for clients that keep many filters open at once.", true, num(&l.Subscriptions, 64, 1, maxInt)},
		{"limits.memory", "Soft limit of the process's memory, and the measure of what clients may make the relay hold: queues, filters, messages, reconciliations and HTTP requests grow and shrink with it (docs/configuration.md). Near it garbage is collected harder; above nine tenths, garbage not counted, REQ and COUNT are closed with error:. GOMEMLIMIT in the environment takes precedence for the process alone. 0 is no limit, with the bounds of 1 GiB. Set it to four fifths of what the machine or container has for the relay.", true, one(&l.Memory, 1<<30, orNone(size[int64](64<<20, math.MaxInt64)))},
		{"limits.connections", "Open connections of all clients. One more is refused with 503. Raise it together with the limit of open files.", true, num(&l.Connections, 10000, 1, maxInt)},
		{"limits.connections_per_address", "Open connections from one address (IPv6: one /64, and four times as many from one /48). One more is refused with 429. 0 is no limit. Loopback is exempt under limits.loopback_exempt. Raise it where many clients share an address.", true, num(&l.ConnectionsPerAddress, 100, 0, maxInt)},
		{"limits.loopback_exempt", "Exempt loopback peers from rates, budgets and bounds per address while every public_url is a loopback one. With another public_url and no proxy.trusted, loopback and private peers cannot be told apart and share one budget. Turn it off where a proxy without proxy.trusted, or strangers on this machine, reach the relay: each loopback address then counts as any other.", true, onOff(&l.LoopbackExempt, true)},
		{"limits.events_per_key", "Rate of events from one author. Above it they are refused with rate-limited:. 0 is no limit; without a burst it is 100. An ephemeral event counts for its author if the sender has proved the author's key, else for the author at that address alone. Set it where authors write from many addresses.", true, one(&l.EventsPerKey, Rate{0, 100}, rate())},
		{"limits.events_per_address", "Rate of events from one address (IPv6: one /48), or from one key that has been known for a day. Above it they are refused with rate-limited:. 0 is no limit; without a burst it is 20000. Loopback (limits.loopback_exempt), imports and restores are exempt. Raise it where many agents share an address.", true, one(&l.EventsPerAddress, Rate{500, 20_000}, rate())},
		{"limits.bytes_per_address", "Bytes of events that one address (IPv6: one /48), or one key that has been known for a day, may send to be stored in an hour, all at once or little by little. Above it they are refused with rate-limited:. 0 is no limit. Exempt is who is exempt from limits.events_per_address. Lower it where strangers may write and the disk is small.", true, one(&l.BytesPerAddress, 1<<30, orNone(size(1<<20, math.MaxInt)))},
		{"limits.author_bytes", "Bytes that one author may have stored, history included. Above it events are refused with blocked: quota:. 0 is no limit. The default exempts authors that are above it already, by an import or from before; a configured limit binds all. Raise it for agents with large memories.", true, one(&l.AuthorBytes, 1<<30, size[int64](0, math.MaxInt64))},
		{"limits.author_events", "Events that one author may have stored, history included. Above it events are refused with blocked: quota:. 0 is no limit. The default exempts authors that are above it already, by an import or from before; a configured limit binds all. Raise it for agents with many memories.", true, one(&l.AuthorEvents, 100_000, whole[int64](0, math.MaxInt64))},
		{"limits.max_limit", "Most events for one filter. A larger limit in a filter is cut to it, and EOSE says that there is more; a filter without limit gets 500, or max_limit if that is less. Raise it for clients that cannot page.", true, num(&l.MaxLimit, 5000, 1, maxInt)},
		{"limits.query_timeout", "Work of one read of the database, as the time that it takes alone; counts and searches also end by the clock. A request that needs more is closed with error:. Raise it on a slow disk, lower it where long reads delay others.", true, dur(&l.QueryTimeout, 10*time.Second, 10*time.Millisecond, time.Hour)},
		{"limits.future", "Time that created_at may be ahead of the relay's clock. Beyond it an event is refused with invalid:. Any age behind is accepted. Raise it for clients with bad clocks.", true, dur(&l.Future, 15*time.Minute, time.Second, 24*time.Hour)},
	}
}

func (c *Config) contractOptions() []*Option {
	k := &c.Contracts
	return []*Option{
		{"contracts.master_key", `Place of the key that seals private entries and provisioned keys: "auto" is the file master.key in the data folder, made at the first start; a path names a file with 64 hex digits; "env:NAME" names an environment variable with them; "off" is none, and private entries and provisioning answer 503. Without the key sealed entries are lost, so keep a copy with the backups. Change it where secrets come from a secret store.`, false,
			one(&k.MasterKey, "auto", keyPlace("auto, off, path or env:NAME"))},
		{"contracts.publish_to", "Further relays that contract events written over the API are published to. An event that one of them does not take is sent again until it does. Set it where parties read contracts at other relays.", false,
			many(&k.PublishTo, relayURL())},
		{"contracts.any_id", "Take contracts under any id. Otherwise a new one needs an id that cannot be guessed, a UUID or at least 32 hex digits, or it is refused: naming a contract suffices to read the entries shared in it. Turn it on for clients that number their contracts, and gate.contracts to parties with it.", true,
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
