package websocket

import (
	"testing"

	"engramd/internal/relay/metrics"
)

// slowToCount is held up when a reconciliation has ended for others' sake.
type slowToCount struct {
	*counted
	ended, goOn chan struct{}
}

func (m *slowToCount) sessions() *metrics.Sessions {
	s := m.counted.sessions()
	counted := s.SyncEnded
	s.SyncEnded = func(why string) {
		if why == syncMemory {
			close(m.ended)
			<-m.goOn
		}
		counted(why)
	}
	return s
}

func (r *rig) onlyConn(t *testing.T) *conn {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.conns) != 1 {
		t.Fatalf("%d connections", len(r.conns))
	}
	for c := range r.conns {
		return c
	}
	return nil
}

// TestAnEndIsToldBeforeANewBeginning: what ends a reconciliation from elsewhere
// never seems to end the next one of its id.
func TestAnEndIsToldBeforeANewBeginning(t *testing.T) {
	f := &fake{}
	f.notes(10)
	slow := &slowToCount{newCounted(), make(chan struct{}), make(chan struct{})}
	r := start(t, f, Options{Metrics: slow.sessions()})
	c := r.dial(t)
	c.send(emptyOpen("s"))
	c.negMsg("s")
	gave := make(chan bool)
	go func() { gave <- r.onlyConn(t).syncs.giveWay() }()
	<-slow.ended
	c.send(emptyOpen("s"))
	c.expectNegErr("s", "closed: others need the memory")
	c.negMsg("s")
	close(slow.goOn)
	if !<-gave {
		t.Error("it did not give way")
	}
	c.send(`["NEG-MSG","s","61"]`)
	c.negMsg("s")
}

// TestAMessageCaughtByTheEndIsAnswered: one that waits for its turn when the
// relay begins to shut down.
func TestAMessageCaughtByTheEndIsAnswered(t *testing.T) {
	f := &fake{}
	f.notes(10)
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(emptyOpen("s"))
	c.negMsg("s")
	caught, asking := make(chan struct{}), r.onlyConn(t).asking
	f.looked = func() {
		close(caught)
		<-asking.Done()
	}
	c.send(`["NEG-MSG","s","61"]`)
	<-caught
	r.endsUnder(t, c)
}
