package websocket

import (
	"slices"
	"sync"
	"time"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/nips/nip77"
)

// Why a reconciliation ended, as metrics have it.
const (
	syncClosed   = "closed"   // by the client
	syncReplaced = "replaced" // by another one of the same id
	syncIdle     = "idle"     // no message came
	syncMemory   = "memory"   // others needed its memory
	syncRefused  = "refused"  // a message was none, or none is served any more
	syncGone     = "gone"     // with its connection
	syncRules    = "rules"    // what may be read has changed
)

// What a client is told of one that the relay ends.
const (
	syncRulesText  = "closed: what may be read here has changed, open it again"
	syncIdleText   = "closed: no message came for too long"
	syncMemoryText = "closed: others need the memory of its events, open it again later"
)

// syncs are the open reconciliations of one connection. Effects opens them and
// answers their messages; any goroutine may end one.
type syncs struct {
	c     *conn
	stake *fairness.Stake // memory of their sets, but for those of replicas, which is kept

	mu   sync.Mutex
	open []*syncing
}

// syncing is one: a set of ids that does not change.
type syncing struct {
	id      string
	bytes   int64       // of memory
	replica bool        // no other takes its memory
	rules   *gate.Table // that were in force when it was granted
	idle    *time.Timer

	// The following are guarded by syncs.mu.
	set  *nip77.Set // nil when it has ended
	busy bool       // a message of it is being answered, or waits for that
}

// find returns the one of this id; nil if there is none.
func (s *syncs) find(id string) *syncing {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.open {
		if one.id == id {
			return one
		}
	}
	return nil
}

// count returns how many are open, and the bytes of their sets.
func (s *syncs) count() (n int, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.open {
		bytes += one.bytes
	}
	return len(s.open), bytes
}

// add opens one. Its memory is taken already.
func (s *syncs) add(one *syncing, idle time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, one)
	one.idle = time.AfterFunc(idle, func() { s.expire(one) })
	s.c.srv.o.Metrics.SyncsAdd(1, one.bytes)
}

// expire ends one for which nothing has come for too long, unless the relay
// itself has not answered yet.
func (s *syncs) expire(one *syncing) {
	s.mu.Lock()
	busy := one.busy
	s.mu.Unlock()
	if !busy {
		s.tell(one, syncIdle, syncIdleText)
	}
}

// work reports that a message of one is to be answered, until rest.
func (s *syncs) work(one *syncing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.busy = true
	one.idle.Stop()
}

// rest says that it was answered, and the client's time begins.
func (s *syncs) rest(one *syncing, idle time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.busy = false
	if one.set != nil {
		one.idle.Reset(idle)
	}
}

// answer sends an answer of one, unless it has ended: then the client was told,
// and nothing of it follows.
func (s *syncs) answer(one *syncing, reply []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one.set != nil {
		s.c.say(wire.AppendNegMsg(nil, one.id, reply))
	}
}

// setOf returns the set of one; nil when it has ended.
func (s *syncs) setOf(one *syncing) *nip77.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return one.set
}

// end ends the one of this id, if there is one, and tells the client nothing.
func (s *syncs) end(id, why string) {
	if one := s.find(id); one != nil {
		s.drop(one, why, "")
	}
}

// endAll ends them with the connection.
func (s *syncs) endAll() {
	s.mu.Lock()
	open := append([]*syncing(nil), s.open...)
	s.mu.Unlock()
	for _, one := range open {
		s.drop(one, syncGone, "")
	}
}

// tell ends one and tells the client why.
func (s *syncs) tell(one *syncing, why, text string) (first bool) {
	if !s.drop(one, why, text) {
		return false
	}
	s.c.record.logRefused(wire.LabelNegMsg, text)
	s.c.flush()
	return true
}

// drop ends one, once, and gives its memory back. A text is queued for the
// client in the same step: behind it, a newer one of this id may begin.
func (s *syncs) drop(one *syncing, why, text string) (first bool) {
	s.mu.Lock()
	if first = one.set != nil; first {
		one.set = nil
		one.idle.Stop()
		s.open = slices.DeleteFunc(s.open, func(other *syncing) bool { return other == one })
		if text != "" {
			s.c.say(wire.AppendNegErr(nil, one.id, text))
		}
	}
	s.mu.Unlock()
	if first {
		s.give(one.bytes, one.replica)
		s.c.srv.o.Metrics.SyncsAdd(-1, -one.bytes)
		s.c.srv.o.Metrics.SyncEnded(why)
	}
	return first
}

// giveWay ends the largest one, for others who have less. It is called by any
// goroutine.
func (s *syncs) giveWay() bool {
	s.mu.Lock()
	var most *syncing
	for _, one := range s.open {
		if !one.replica && (most == nil || one.bytes > most.bytes) {
			most = one
		}
	}
	s.mu.Unlock()
	return most != nil && s.tell(most, syncMemory, syncMemoryText)
}

// take takes the memory of a set, or says which bound is in the way. Replicas
// are bounded in all alone, and give way to nobody.
func (s *syncs) take(bytes int64, replica bool) fairness.Over {
	if !replica {
		return s.stake.Take(bytes)
	}
	if !s.c.srv.syncing.Keep(bytes) {
		return fairness.OverTotal
	}
	return fairness.Within
}

func (s *syncs) give(bytes int64, replica bool) {
	if replica {
		s.c.srv.syncing.GiveKept(bytes)
		return
	}
	s.stake.Give(bytes)
}
