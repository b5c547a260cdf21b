package localcopy

import (
	"context"
	"maps"
	"slices"

	"engramd/internal/memory/state/sealedfile"
)

// writing is a transaction that changes what relays have.
type writing struct {
	m       *Copy
	tx      *sealedfile.Tx
	touched map[int64]bool // places whose head must be chosen anew
	changes Changes
}

// write runs a change and chooses heads anew where it touched a place, in one
// transaction. changes gets what was done, and keeps what was refused before.
func (m *Copy) write(ctx context.Context, do func(*writing) error, changes *Changes) error {
	return m.file.Mended(ctx, func() error {
		w := &writing{m: m, touched: map[int64]bool{}}
		err := m.file.Write(ctx, func(tx *sealedfile.Tx) error {
			w.tx = tx
			if err := do(w); err != nil {
				return err
			}
			for _, a := range slices.Sorted(maps.Keys(w.touched)) {
				w.choose(a)
			}
			return nil
		})
		if err == nil {
			changes.New, changes.Heads = w.changes.New, w.changes.Heads
		}
		return err
	})
}

// relayIf returns the number of a relay, 0 if it has none.
func (w *writing) relayIf(url string) int64 {
	return w.tx.Int("SELECT r FROM relays WHERE url = ?", canonical(url))
}

// relay returns the number of a relay, which it gets if it has none.
func (w *writing) relay(url string) (int64, error) {
	if r := w.relayIf(url); r != 0 || w.tx.Err() != nil {
		return r, w.tx.Err()
	}
	err := w.mark(url, Mark{})
	return w.relayIf(url), err
}

// put takes in one event that a relay has; 0 is none.
func (w *writing) put(r int64, o *opened) {
	a := w.place(o)
	n := w.event(a, o)
	w.raw(a, n, o.signed)
	if r == 0 {
		w.touched[a] = true
		return
	}
	if w.tx.Exec("INSERT OR IGNORE INTO held (n, r) VALUES (?, ?)", n, r); w.tx.Changed() == 0 {
		return
	}
	w.touched[a] = true
	if o.state == unreadable {
		return // who cannot read it may have been sent an older one beside it
	}
	w.tx.Exec("DELETE FROM held WHERE r = ? AND n IN (SELECT n FROM events WHERE a = ? AND (created < ? OR created = ? AND id > ?))",
		r, a, o.created, o.created, o.id[:])
}

// place returns the number of an event's address, and notes its slug.
func (w *writing) place(o *opened) (a int64) {
	for r := range w.tx.Rows("SELECT a, slug FROM places WHERE d = ?", o.d[:]) {
		if a = r.Int(0); r.Text(1) == "" && o.slug != "" {
			w.tx.Exec("UPDATE places SET slug = ? WHERE a = ?", o.slug, a)
		}
	}
	if a != 0 {
		return a
	}
	return w.tx.Int("INSERT INTO places (d, slug, doubtful, seq) VALUES (?, ?, 0, 0) RETURNING a", o.d[:], o.slug)
}

// event returns the number of an event, which is stored if it is not there. A text that
// went comes back: choose drops it if its time is over.
func (w *writing) event(a int64, o *opened) int64 {
	n := w.tx.Int("SELECT n FROM events WHERE id = ?", o.id[:])
	if n == 0 {
		n = w.tx.Int("INSERT INTO events (id, a, created, state, reason, size, hash, mac) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING n",
			o.id[:], a, o.created, o.state, o.reason, o.size, o.hash, w.m.seal.mac("event", o.parts()...))
		w.changes.New++
	}
	if o.state == withText {
		w.tx.Exec("INSERT OR IGNORE INTO texts (n, text) VALUES (?, ?)", n, []byte(o.text))
		w.touched[a] = w.touched[a] || w.tx.Changed() > 0
	}
	return n
}

// lost notes that a relay has an event no more.
func (w *writing) lost(r int64, id [32]byte) {
	for row := range w.tx.Rows("SELECT n, a FROM events WHERE id = ?", id[:]) {
		w.touched[row.Int(1)] = true
		w.tx.Exec("DELETE FROM held WHERE n = ? AND r = ?", row.Int(0), r)
	}
}

// drop removes an event.
func (w *writing) drop(n int64) {
	w.tx.Exec("DELETE FROM events WHERE n = ?", n)
	w.tx.Exec("DELETE FROM texts WHERE n = ?", n)
	w.tx.Exec("DELETE FROM raws WHERE n = ?", n)
}

// expire drops what has expired (NIP-40): texts, vectors, and what of the index is on disk.
func expire(ctx context.Context, m *Copy) error {
	const over = "FROM raws WHERE expires > 0 AND expires <= ?"
	now, due := m.now().Unix(), false
	err := m.read(ctx, func(tx *sealedfile.Tx) error { due = tx.Has("SELECT 1 "+over, now); return tx.Err() })
	if err != nil || !due {
		return err
	}
	err = m.write(ctx, func(w *writing) error {
		var places []int64
		for r := range w.tx.Rows("SELECT a FROM events WHERE n IN (SELECT n "+over+")", now) {
			places = append(places, r.Int(0))
		}
		for _, a := range places {
			w.choose(a)
		}
		w.tx.Exec("UPDATE raws SET expires = -expires, raw = x'' WHERE expires > 0 AND expires <= ?", now)
		return w.tx.Exec("DELETE " + strays)
	}, &Changes{})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outdated = m.outdated || err == nil
	return err
}

// choose chooses the head of a place: the newest that can be read, else the newest. One
// that no relay has stays the head until a newer one comes; what else no relay has is
// dropped. One whose time (NIP-40) is over, or whose text went with such a one, is none,
// nor is what is older: the texts go. The newest of these stays without its text, even if
// no relay has it: a relay may show an older one at any time.
func (w *writing) choose(a int64) {
	var gone []int64
	var head, before, doubtful, doubted, wasBehind int64
	var behind Shown
	now, was, ended := w.m.now().Unix(), false, false
	for r := range w.tx.Rows(`SELECT e.n, e.state, EXISTS (SELECT 1 FROM held h WHERE h.n = e.n), abs(coalesce(w.expires, 0)), EXISTS (SELECT 1 FROM texts t WHERE t.n = e.n)
		FROM events e LEFT JOIN raws w ON w.n = e.n WHERE e.a = ? ORDER BY e.created DESC, e.id`, a) {
		n, state, shown, expires, ends := r.Int(0), r.Int(1), r.Int(2) != 0, r.Int(3), false
		if over := expires > 0 && expires <= now; state != unreadable && !was && !ended && (over || state == withText && r.Int(4) == 0) {
			ended, ends = true, true
		}
		if ended {
			w.tx.Exec("DELETE FROM texts WHERE n = ?", n)
		}
		if was && shown && behind == ShownNone {
			behind = ShownOlder
		}
		switch {
		case ends:
		case !shown && (was || state == unreadable || ended):
			gone = append(gone, n)
		case was, ended:
		case state != unreadable:
			if head, was = n, true; !shown {
				behind = ShownNone
			}
		default:
			if doubtful++; head == 0 {
				head = n
			}
		}
	}
	for _, n := range gone {
		w.drop(n)
	}
	for r := range w.tx.Rows("SELECT head, doubtful, behind FROM places WHERE a = ?", a) {
		before, doubted, wasBehind = r.Int(0), r.Int(1), r.Int(2)
	}
	if head == before && doubtful == doubted && int64(behind) == wasBehind {
		return
	}
	w.changes.Heads++
	w.tx.Exec("UPDATE counter SET seq = seq + 1")
	w.tx.Exec("UPDATE places SET head = nullif(?, 0), doubtful = ?, behind = ?, seq = (SELECT seq FROM counter) WHERE a = ?", head, doubtful, int64(behind), a)
}
