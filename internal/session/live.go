package session

import (
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
)

// together is how many events of a batch are queued before the writers start:
// several events to one client then go out in one system call.
const together = 32

// deliver takes committed and ephemeral events from the relay. It is called by
// the relay's dispatcher and by those who submit ephemeral events, and waits for
// no client.
func (s *Server) deliver(batch []relay.Delivery) {
	f, _ := s.live.scratch.Get().(*found)
	if f == nil {
		f = &found{}
	}
	for part := range slices.Chunk(batch, together) {
		sent := 0
		for i := range part {
			sent += s.deliverOne(f, &part[i])
		}
		f.write()
		if sent > 0 {
			s.metrics.LiveSent(sent)
		}
	}
	f.clear()
	s.live.scratch.Put(f)
}

// directly is how many clients' writers are attempted before others take over.
const directly = 128

// write starts the writers: those of the last few clients from here, and of
// others, when there are many, from goroutines, each for as many.
func (f *found) write() {
	for len(f.start) > directly {
		rest := len(f.start) - directly
		go writeAll(slices.Clone(f.start[rest:]))
		f.start = f.start[:rest]
	}
	writeAll(f.start)
	f.start = f.start[:0]
}

func writeAll(conns []*conn) {
	for _, c := range conns {
		c.write()
	}
	if len(conns) > 0 {
		conns[0].srv.countQueued()
	}
}

// deliverOne queues one event for everybody who wants it and may know of it.
func (s *Server) deliverOne(f *found, d *relay.Delivery) (sent int) {
	expires := expiration(d.Event)
	if expires != 0 && int64(expires) <= s.now().Unix() {
		return 0
	}
	s.live.concerned(f, d.Event)
	for _, sub := range f.subs {
		took, start := sub.deliver(d, expires)
		if took {
			sent++
		}
		if start {
			f.start = append(f.start, sub.c)
		}
	}
	return sent
}

// expiration is the time from which an event must not be shown (NIP-40), 0 for
// never.
func expiration(ev *nostr.Event) nostr.Timestamp {
	for _, tag := range ev.Tags {
		if len(tag) >= 2 && tag[0] == "expiration" {
			if at, err := strconv.ParseInt(tag[1], 10, 64); err == nil {
				return nostr.Timestamp(at)
			}
		}
	}
	return 0
}
