package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"engramd/internal/relay/store"
)

// row is what a command wrote to a fake store.
type row struct {
	place store.LogPlace
	at    int64
	text  string
}

// disk is what a fake store has made durable. It outlives the process.
type disk struct {
	mu     sync.Mutex
	rows   []row
	has    map[string]int
	state  []byte
	states map[store.LogPlace][32]byte // at every end of a transaction
	boot   uint64
}

func newDisk() *disk {
	return &disk{has: make(map[string]int), states: make(map[store.LogPlace][32]byte)}
}

func (d *disk) commit(list []store.Placed, state []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range list {
		if p.Command == nil {
			continue
		}
		r := row{p.Place, p.At, text(p.Command)}
		d.rows = append(d.rows, r)
		d.has[r.text]++
	}
	d.state = state
	d.states[list[len(list)-1].Place] = sha256.Sum256(state)
}

func (d *disk) copyRows() []row {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]row(nil), d.rows...)
}

// say returns a command that carries a text, for a fake store.
func say(text string) store.Command { return store.DropTokens{ID: text} }

func text(c store.Command) string {
	switch c := c.(type) {
	case store.DropTokens:
		return c.ID
	case store.Configure:
		return fmt.Sprint("configure ", c.Live.Versions)
	}
	return fmt.Sprintf("%T", c)
}

// fake is a store that executes what it is given in transactions of any size,
// some of which fail at first.
type fake struct {
	disk *disk
	in   chan []store.Placed
	node *Node
	rng  *rand.Rand
	slow time.Duration // how long a transaction takes at most
	odd  func(store.Placed) store.Outcome
	fail func(store.Placed) error // why a command cannot be executed
}

func newFake(d *disk, seed uint64) *fake {
	return &fake{disk: d, in: make(chan []store.Placed, 4), rng: rand.New(rand.NewPCG(seed, 1))}
}

func (f *fake) Execute(ctx context.Context, list []store.Placed) error {
	select {
	case f.in <- list:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fake) run(ctx context.Context) {
	var list []store.Placed
	for {
		if len(list) == 0 {
			select {
			case list = <-f.in:
			case <-ctx.Done():
				return
			}
		}
		for more := true; more; {
			select {
			case next := <-f.in:
				list = append(list, next...)
			default:
				more = false
			}
		}
		if f.rng.IntN(8) == 0 { // a transaction that fails
			f.node.State(f.done(list[:1+f.rng.IntN(len(list))]))
		}
		n := 1 + f.rng.IntN(len(list))
		if n = f.able(list[:n]); n == 0 {
			return
		}
		state := f.node.State(f.done(list[:n]))
		if f.slow > 0 {
			time.Sleep(time.Duration(f.rng.Int64N(int64(f.slow))))
		}
		if state == nil || ctx.Err() != nil {
			return
		}
		f.disk.commit(list[:n], state)
		if ctx.Err() != nil {
			return
		}
		f.node.Durable()
		for _, p := range list[:n] {
			if t, ok := p.Ticket.(*ticket); ok {
				t.end(nil)
			}
		}
		list = list[n:]
	}
}

// able returns how many commands from the start can be executed. The node ends
// at the first that cannot.
func (f *fake) able(list []store.Placed) int {
	for i, p := range list {
		if f.fail == nil || p.Command == nil {
			continue
		}
		if err := f.fail(p); err != nil && i == 0 {
			f.node.Halt(err)
			return 0
		} else if err != nil {
			return i
		}
	}
	return len(list)
}

func (f *fake) done(list []store.Placed) (out []store.Done) {
	for _, p := range list {
		d := store.Done{Place: p.Place}
		if p.Command != nil {
			d.Digest = sha256.Sum256([]byte(text(p.Command)))
			if f.odd != nil {
				d.Outcome = f.odd(p)
			}
		}
		out = append(out, d)
	}
	return out
}

// ticket waits for the answer to a command: the first answer counts.
type ticket struct {
	once  sync.Once
	ended chan struct{}
	err   error
	then  func(err error)
}

func newTicket(then func(error)) *ticket { return &ticket{ended: make(chan struct{}), then: then} }

func (t *ticket) end(err error) {
	t.once.Do(func() {
		t.err = err
		if t.then != nil {
			t.then(err)
		}
		close(t.ended)
	})
}

func (t *ticket) Fail(err error) { t.end(err) }

// host is a machine with a node, which can be killed and started again.
type host struct {
	log    *Memory
	disk   *disk
	o      Options
	client MemoryOptions
	seed   uint64
	slow   time.Duration
	odd    func(store.Placed) store.Outcome
	fail   func(store.Placed) error

	mu   sync.Mutex
	node *Node
	conn *MemoryClient
	stop context.CancelFunc
	wait *sync.WaitGroup
	ran  error // what Run returned
}

func newHost(log *Memory, name string, seed uint64) *host {
	h := &host{log: log, disk: newDisk(), seed: seed}
	h.o = Options{ClusterID: ClusterID{1}, Name: name, Version: proofVersion}
	copy(h.o.NodeID[:], name)
	return h
}

// start starts a node on what is durable, and returns it.
func (h *host) start() (*Node, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disk.boot++
	f := newFake(h.disk, h.seed+h.disk.boot*1000)
	f.slow, f.odd, f.fail = h.slow, h.odd, h.fail
	h.conn = h.log.Client(h.client)
	o := h.o
	o.Log, o.Boot, o.State, o.Executor = h.conn, h.disk.boot, h.disk.state, f
	n, err := New(o)
	if err != nil {
		return nil, err
	}
	f.node, h.node = n, n
	ctx, cancel := context.WithCancel(context.Background())
	h.stop, h.wait = cancel, &sync.WaitGroup{}
	h.wait.Go(func() { h.ran = n.Run(ctx) })
	h.wait.Go(func() { f.run(ctx) })
	return n, nil
}

// kill ends the node at once. What it had sent may be lost or not. It holds no
// lock while it waits, because time would stand still in a bubble.
func (h *host) kill() {
	h.mu.Lock()
	if h.node == nil {
		h.mu.Unlock()
		return
	}
	conn, stop, wait := h.conn, h.stop, h.wait
	h.node = nil
	h.mu.Unlock()
	conn.Close()
	stop()
	wait.Wait()
}

// up returns the running node, or nil.
func (h *host) up() *Node {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.node
}

func (h *host) cut(cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		h.conn.Cut(cut)
	}
}
