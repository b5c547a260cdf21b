package websocket

import (
	"cmp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
)

// news is one live event, prepared once for all who may want it.
type news struct {
	relay.Delivery
	prepared
	expires nostr.Timestamp // 0 is never
	at      time.Time       // when it came
	holds   int             // bytes, while somebody has it still to look at
	waiting atomic.Int64    // connections that have
}

// prepared is what of an event filters ask for, by numbers.
type prepared struct {
	id, author uint64
	tags       []hashedTag // those with one letter and a value, by letter and number
	places     []uint64    // where in the index who wants it may be, sorted
}

// hashedTag is a tag that a filter can ask for.
type hashedTag struct {
	hash  uint64
	name  byte
	value string
}

// of prepares an event, in the memory that p has.
func (p *prepared) of(h hasher, ev *nostr.Event) {
	p.id, p.author = h.value(byID, 0, ev.ID), h.value(byAuthor, 0, ev.PubKey)
	p.tags = p.tags[:0]
	p.places = append(p.places[:0], h.all(), h.kind(ev.Kind), p.id, p.author)
	for _, tag := range ev.Tags {
		if len(tag) >= 2 && len(tag[0]) == 1 {
			hash := h.value(byTag, tag[0][0], tag[1])
			p.tags = append(p.tags, hashedTag{hash, tag[0][0], tag[1]})
			p.places = append(p.places, hash)
		}
	}
	slices.SortFunc(p.tags, func(a, b hashedTag) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.hash, b.hash)) })
	slices.Sort(p.places)
	p.places = slices.Compact(p.places)
}

// newNews returns an event for those who may want it.
func newNews(p *prepared, d *relay.Delivery, expires nostr.Timestamp, now time.Time) *news {
	own := prepared{p.id, p.author, slices.Clone(p.tags), slices.Clone(p.places)}
	return &news{
		Delivery: *d, prepared: own, expires: expires, at: now,
		holds: 2*len(d.JSON) + 64*(len(own.tags)+16),
	}
}

// tagged returns the event's tags of one letter.
func (n *prepared) tagged(name byte) []hashedTag {
	from := 0
	for from < len(n.tags) && n.tags[from].name != name {
		if from >= 8 { // many: those of a letter lie together
			from, _ = slices.BinarySearchFunc(n.tags, name, func(t hashedTag, name byte) int { return cmp.Compare(t.name, name) })
			break
		}
		from++
	}
	rest := n.tags[from:]
	if len(rest) == 0 || rest[0].name != name {
		return nil
	}
	return rest[:seek(len(rest), func(i int) bool { return rest[i].name != name })]
}

// expiration returns the time from which an event must not be shown (NIP-40), 0
// for never.
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
