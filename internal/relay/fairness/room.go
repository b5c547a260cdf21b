package fairness

import "sync"

// Room is a number of bytes that shares may hold at once. Nobody waits for it:
// who gets none tries again later. As with Slots, a share may not hold more
// than it leaves for others, nor a part more than it leaves for the other parts
// of its share, so that who has little always finds some. It is safe for
// concurrent use.
type Room struct {
	mu    sync.Mutex
	total int64
	used  int64
	held  map[string]*tenant
}

// tenant is a share that holds something.
type tenant struct {
	held  int64
	parts map[string]int64
}

// NewRoom makes a room of so many bytes.
func NewRoom(total int64) *Room {
	return &Room{total: total, held: make(map[string]*tenant)}
}

// Take takes n bytes for who, all of them or none, and reports whether it did.
func (r *Room) Take(who Who, n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	free := r.total - r.used - n
	t := r.held[who.Share]
	if t == nil {
		t = &tenant{parts: make(map[string]int64)}
	}
	switch {
	case t.held+n > free:
		return false
	case who.Part != "" && t.parts[who.Part]+n > free-t.held-n:
		return false
	}
	r.used += n
	t.held += n
	t.parts[who.Part] += n
	r.held[who.Share] = t
	return true
}

// Give gives back n bytes that who has taken.
func (r *Room) Give(who Who, n int64) {
	if n == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.held[who.Share]
	r.used -= n
	t.held -= n
	if t.parts[who.Part] -= n; t.parts[who.Part] == 0 {
		delete(t.parts, who.Part)
	}
	if t.held == 0 {
		delete(r.held, who.Share)
	}
}

// Used returns how many bytes are held.
func (r *Room) Used() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}
