package engine

import (
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

// Member is something that waits for the writer, and its answer. It is made
// ready by Init, or by DB.Do.
type Member struct {
	Of any // what it is to the applier

	who    fairness.Who // sent it
	cost   int
	alone  func() error // in place of Of: work that has the writer for itself
	at     int64        // Unix seconds: when it was applied first
	timed  bool         // at is set
	again  bool         // tried before, when what was removed took the room
	done   chan struct{}
	result store.Result
	told   func(store.Result) // called with the result, if not nil
}

// Init makes m a member that stands for of and costs about as much as so many
// bytes.
func (m *Member) Init(of any, cost int) {
	m.Of, m.cost, m.done = of, cost, make(chan struct{})
}

// Stamp says when the member is applied, in Unix seconds. Else that is when its
// Transaction begins.
func (m *Member) Stamp(at int64) { m.at, m.timed = at, true }

// Tell has fn called with the result, on the writer's goroutine. It must not
// block.
func (m *Member) Tell(fn func(store.Result)) { m.told = fn }

// At is when it was applied first.
func (m *Member) At() int64 { return m.at }

// Who sent it.
func (m *Member) Who() fairness.Who { return m.who }

// Done is closed when the result is known.
func (m *Member) Done() <-chan struct{} { return m.done }

// Wait returns the result as soon as it is known. The writer always answers,
// also when the store closes.
func (m *Member) Wait() store.Result {
	<-m.done
	return m.result
}

// Finish makes the result known. The writer calls it once.
func (m *Member) finish(r store.Result) {
	m.result = r
	close(m.done)
	if m.told != nil {
		m.told(r)
	}
}
