package policy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
	"engramd/nips/kind"
)

// crowd is a database of which tests say how much it takes.
type crowd struct {
	hand
	used  int64
	looks int
	err   error
}

func (c *crowd) look(context.Context) (int64, error) {
	c.looks++
	return c.used, c.err
}

// crowded is a policy over it, which knows the agent's key.
func crowded(t *testing.T, c *crowd, b RoomBounds, o Options) *Policy {
	t.Helper()
	o.Room = NewRoom(c.look, c.now)
	o.Room.SetBounds(b)
	o.Known = func(_ context.Context, key string) (bool, error) { return key == agentKey, nil }
	return mustPolicy(t, o)
}

var somebody = fairness.Who{Share: "192.0.2.1", Conn: 1}

// long is a note of n characters.
func long(key string, n int) *nostr.Event {
	ev := note(key)
	ev.Content = strings.Repeat("x", n)
	return ev
}

// The last of the room is for keys that the relay knows, whatever strangers do.
func TestStrangersLeaveAReserve(t *testing.T) {
	c := &crowd{hand: hand{start}, used: 899_999}
	p := crowded(t, c, RoomBounds{Max: 1_000_000, Reserve: 100_000}, Options{})
	checkFrom(t, p, somebody, note(strangerKey), "")
	c.used, c.at = 900_000, c.at.Add(lookEvery)
	checkFrom(t, p, somebody, note(strangerKey), keptForKeys)
	checkFrom(t, p, fairness.Who{Share: "key " + agentKey, Conn: 2}, note(strangerKey), keptForKeys)
	checkFrom(t, p, somebody, note(agentKey), "")
	checkFrom(t, p, somebody, withKind(nostr.KindDeletion, note(strangerKey)), "")
	checkFrom(t, p, fairness.Who{}, note(strangerKey), "")                                     // the relay itself, an import
	checkFrom(t, p, fairness.Who{Share: "127.0.0.1", Exempt: true}, note(strangerKey), "")     // no stranger comes from there
	checkFrom(t, p, somebody, withKind(20001, note(strangerKey)), "")                          // takes no room
	checkFrom(t, p, somebody, withKind(kind.Vanish, note(strangerKey)), "invalid: not addres") // may pass if it is for us
	c.used, c.at = 5_000_000, c.at.Add(lookEvery)                                              // the database says so itself
	checkFrom(t, p, somebody, note(agentKey), "")
	c.used, c.at = 500, c.at.Add(lookEvery)
	checkFrom(t, p, somebody, note(strangerKey), "")
}

// Requests to delete make room, and take some: strangers cannot fill with them what
// is kept, and known keys can always make room.
func TestDeletionsLeaveAReserve(t *testing.T) {
	c := &crowd{hand: hand{start}, used: 900_000}
	p := crowded(t, c, RoomBounds{Max: 1_000_000, Reserve: 100_000, Whole: true}, Options{})
	taken := 0
	for rejected, msg := false, ""; !rejected; taken++ {
		if rejected, msg = p.RejectEvent(from(t, somebody), withKind(nostr.KindDeletion, long(strangerKey, 1000))); rejected && msg != keptForKeys || taken > 100 {
			t.Fatalf("request %d: %q", taken, msg)
		}
	}
	if most := 50_000/growth/1000 + 1; taken > most+1 || taken < most/2 {
		t.Errorf("%d requests are let in, want about %d", taken-1, most)
	}
	checkFrom(t, p, somebody, note(agentKey), "")
	c.used, c.at = 2_000_000, c.at.Add(lookEvery)
	checkFrom(t, p, somebody, withKind(nostr.KindDeletion, note(agentKey)), "")
	checkFrom(t, p, somebody, note(agentKey), noRoom)
}

// Whom lists let in is no stranger.
func TestListedAreNoStrangers(t *testing.T) {
	c := &crowd{hand: hand{start}, used: 950}
	p := crowded(t, c, RoomBounds{Max: 1000, Reserve: 100}, Options{Authors: []string{strangerKey}})
	checkFrom(t, p, somebody, note(strangerKey), "")
}

// Where no file has a limit nobody but who makes room goes beyond.
func TestWholeRoomIsJudged(t *testing.T) {
	c := &crowd{hand: hand{start}, used: 1000}
	p := crowded(t, c, RoomBounds{Max: 1000, Reserve: 100, Whole: true}, Options{})
	for _, who := range []fairness.Who{somebody, {}, {Share: "127.0.0.1", Exempt: true}} {
		checkFrom(t, p, who, note(agentKey), noRoom)
		checkFrom(t, p, who, withKind(nostr.KindDeletion, note(agentKey)), "")
	}
	if reject, msg := p.AtOrigin(from(t, somebody), note(agentKey)); !reject || msg != noRoom {
		t.Errorf("where it is taken: %v %q", reject, msg)
	}
	p.Room.SetBounds(RoomBounds{})
	checkFrom(t, p, somebody, note(strangerKey), "")
}

// What was let in counts at once, so that a flood between two looks does not
// take the reserve; a look that fails leaves what was known.
func TestRoomIsCountedBetweenLooks(t *testing.T) {
	c := &crowd{hand: hand{start}}
	p := crowded(t, c, RoomBounds{Max: 1_000_000, Reserve: 100_000}, Options{})
	taken := 0
	for rejected := false; !rejected; taken++ {
		rejected, _ = p.RejectEvent(from(t, somebody), long(strangerKey, 10_000))
	}
	if most := 900_000/growth/10_000 + 1; c.looks != 1 || taken > most+1 || taken < most-2 {
		t.Errorf("%d notes of 10,000 bytes are let in after %d looks, want about %d", taken-1, c.looks, most)
	}
	c.at, c.err = c.at.Add(lookEvery), errors.New("busy")
	checkFrom(t, p, somebody, note(strangerKey), keptForKeys)
	c.at, c.err = c.at.Add(lookEvery), nil
	checkFrom(t, p, somebody, note(strangerKey), "")
}

// Bytes of an hour are charged to who sends them, and come back with time.
func TestBytesOfAnHour(t *testing.T) {
	clock := &hand{start}
	size := wire.Size(long(strangerKey, 1000))
	p := mustPolicy(t, Options{Clock: clock.now, Rates: Rates{Bytes: fairness.Rate{PerSecond: float64(3*size) / 3600, Burst: 3 * size}}})
	for range 3 {
		checkFrom(t, p, somebody, long(strangerKey, 1000), "")
	}
	checkFrom(t, p, somebody, long(agentKey, 1000), "rate-limited: one address may store ")
	checkFrom(t, p, fairness.Who{Share: "192.0.2.2"}, long(agentKey, 1000), "")
	checkFrom(t, p, fairness.Who{Share: "127.0.0.1", Exempt: true}, long(agentKey, 100_000), "")
	checkFrom(t, p, somebody, withKind(20001, long(agentKey, 1000)), "")
	p.NotStored(somebody, long(agentKey, 1000)) // who sends it once more has sent it
	checkFrom(t, p, somebody, long(agentKey, 1000), "rate-limited: ")
	clock.at = clock.at.Add(20 * time.Minute)
	checkFrom(t, p, somebody, long(agentKey, 1000), "")
	checkFrom(t, p, somebody, long(agentKey, 1000), "rate-limited: ")
	clock.at = clock.at.Add(24 * time.Hour)
	checkFrom(t, p, somebody, long(agentKey, 1_000_000), "") // not for ever too large
}

// A target of a deletion request is more work than a tag.
func TestTargetsOfDeletionsCountAsMore(t *testing.T) {
	p := mustPolicy(t, Options{Clock: (&hand{start}).now, Rates: Rates{Rows: fairness.Rate{PerSecond: 1, Burst: 100}}})
	request := withKind(nostr.KindDeletion, note(strangerKey))
	for range 12 {
		request.Tags = append(request.Tags, nostr.Tag{"e", agentKey}, nostr.Tag{"a", "30023:" + strangerKey + ":x"})
	}
	checkFrom(t, p, somebody, request, "")
	checkFrom(t, p, somebody, tagged(agentKey, 5), "rate-limited: one address may write 1 indexed tags")
	checkFrom(t, p, somebody, tagged(agentKey, 4), "")
}
