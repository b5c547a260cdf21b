package cluster_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
)

// load appends without a pause, with many in flight, until it is stopped.
type load struct {
	writer byte
	stop   chan struct{}
	ended  chan struct{}

	mu     sync.Mutex
	acked  map[uint64]uint64 // the message's number in the log, by its own
	failed int
}

// flying is how many appends of one load have no answer.
const flying = 64

func begin(c *jetstream.Conn, writer byte) *load {
	l := &load{writer: writer, stop: make(chan struct{}), ended: make(chan struct{}), acked: map[uint64]uint64{}}
	go l.run(c)
	return l
}

func (l *load) run(c *jetstream.Conn) {
	defer close(l.ended)
	slots := make(chan struct{}, flying)
	var answers sync.WaitGroup
	defer answers.Wait()
	for n := uint64(1); ; n++ {
		select {
		case <-l.stop:
			return
		case slots <- struct{}{}:
		}
		answers.Add(1)
		c.Append(numbered(l.writer, n), func(number uint64, err error) {
			l.mu.Lock()
			if err == nil {
				l.acked[n] = number
			} else {
				l.failed++
			}
			l.mu.Unlock()
			<-slots
			answers.Done()
		})
	}
}

// count returns the number of appends acknowledged so far.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// end stops and returns when every append has its answer.
func (l *load) end() {
	close(l.stop)
	<-l.ended
}

// judge checks that every acknowledged append is in the log under its number,
// once, in the order of the appends.
func (l *load) judge(t *testing.T, log []cluster.Message) {
	t.Helper()
	at := map[uint64][]uint64{}
	for _, m := range log {
		writer, n, err := parse(m.Data)
		if err != nil {
			t.Fatalf("message %d: %v", m.Number, err)
		}
		if writer == l.writer {
			at[n] = append(at[n], m.Number)
		}
	}
	before := uint64(0)
	for _, n := range slices.Sorted(maps.Keys(l.acked)) {
		number := l.acked[n]
		if !slices.Equal(at[n], []uint64{number}) {
			t.Errorf("append %d of writer %d was acknowledged as %d; the log has it at %v", n, l.writer, number, at[n])
		}
		if number <= before {
			t.Errorf("append %d of writer %d is number %d, behind %d", n, l.writer, number, before)
		}
		before = number
	}
	t.Logf("writer %d: %d acknowledged, %d not", l.writer, len(l.acked), l.failed)
}
