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
	return m.mended(ctx, func() error {
		w := &writing{m: m, touched: map[int64]bool{}}
		err := m.file.Write(ctx, func(tx *sealedfile.Tx) error {
			w.tx = tx
			if err := do(w); err != nil {
				return err
			}
			for _, a := range slices.Sorted(maps.Keys(w.touched)) {
				if err := w.choose(a); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			changes.New, changes.Heads = w.changes.New, w.changes.Heads
		}
		return err
	})
}

// relayIf returns the number of a relay if it has one.
func (w *writing) relayIf(url string) (r int64, found bool, err error) {
	found, err = w.tx.One("SELECT r FROM relays WHERE url = ?", func(row sealedfile.Row) error { r = row.Int(0); return nil }, canonical(url))
	return r, found, err
}

// relay returns the number of a relay, which it gets if it has none.
func (w *writing) relay(url string) (int64, error) {
	r, found, err := w.relayIf(url)
	if err != nil || found {
		return r, err
	}
	if err := w.mark(url, Mark{}); err != nil {
		return 0, err
	}
	r, _, err = w.relayIf(url)
	return r, err
}

// put takes in one event that a relay has.
func (w *writing) put(r int64, o *opened) error {
	a, err := w.place(o)
	if err != nil {
		return err
	}
	n, err := w.event(a, o)
	if err != nil {
		return err
	}
	if err := w.tx.Exec("INSERT OR IGNORE INTO held (n, r) VALUES (?, ?)", n, r); err != nil || w.tx.Changed() == 0 {
		return err
	}
	w.touched[a] = true
	if o.state == unreadable {
		return nil // who cannot read it may have been sent an older one beside it
	}
	return w.tx.Exec("DELETE FROM held WHERE r = ? AND n IN (SELECT n FROM events WHERE a = ? AND (created < ? OR created = ? AND id > ?))",
		r, a, o.created, o.created, o.id[:])
}

// place returns the number of an event's address, and notes its slug.
func (w *writing) place(o *opened) (a int64, err error) {
	slug := ""
	found, err := w.tx.One("SELECT a, slug FROM places WHERE d = ?", func(r sealedfile.Row) error {
		a, slug = r.Int(0), r.Text(1)
		return nil
	}, o.d[:])
	switch {
	case err != nil || found && (slug != "" || o.slug == ""):
		return a, err
	case found:
		return a, w.tx.Exec("UPDATE places SET slug = ? WHERE a = ?", o.slug, a)
	}
	return w.insert("INSERT INTO places (d, slug, doubtful, seq) VALUES (?, ?, 0, 0) RETURNING a", o.d[:], o.slug)
}

// insert returns the number that a new row gets.
func (w *writing) insert(sql string, args ...any) (n int64, err error) {
	_, err = w.tx.One(sql, func(r sealedfile.Row) error { n = r.Int(0); return nil }, args...)
	return n, err
}

// event returns the number of an event, which is stored if it is not there.
func (w *writing) event(a int64, o *opened) (n int64, err error) {
	found, err := w.tx.One("SELECT n FROM events WHERE id = ?", func(r sealedfile.Row) error { n = r.Int(0); return nil }, o.id[:])
	if err != nil || found {
		return n, err
	}
	n, err = w.insert("INSERT INTO events (id, a, created, state, reason, size, hash, mac) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING n",
		o.id[:], a, o.created, o.state, o.reason, o.size, o.hash, w.m.seal.mac("event", o.parts()...))
	if err != nil {
		return 0, err
	}
	w.changes.New++
	if o.state == withText {
		err = w.tx.Exec("INSERT INTO texts (n, text) VALUES (?, ?)", n, []byte(o.text))
	}
	return n, err
}

// lost notes that a relay has an event no more.
func (w *writing) lost(r int64, id [32]byte) error {
	var n, a int64
	found, err := w.tx.One("SELECT n, a FROM events WHERE id = ?", func(row sealedfile.Row) error {
		n, a = row.Int(0), row.Int(1)
		return nil
	}, id[:])
	if err != nil || !found {
		return err
	}
	w.touched[a] = true
	return w.tx.Exec("DELETE FROM held WHERE n = ? AND r = ?", n, r)
}

// choose drops what no relay has at a place, and chooses the head from the rest:
// the newest that can be read, else the newest.
func (w *writing) choose(a int64) error {
	var gone []int64
	var head, before, doubtful, doubted int64
	was := false
	err := w.tx.Each(`SELECT e.n, e.state, EXISTS (SELECT 1 FROM held h WHERE h.n = e.n) FROM events e WHERE e.a = ? ORDER BY e.created DESC, e.id`, func(r sealedfile.Row) error {
		switch n, state := r.Int(0), r.Int(1); {
		case r.Int(2) == 0:
			gone = append(gone, n)
		case was:
		case state != unreadable:
			head, was = n, true
		default:
			if doubtful++; head == 0 {
				head = n
			}
		}
		return nil
	}, a)
	if err != nil {
		return err
	}
	for _, n := range gone {
		if err := w.tx.Exec("DELETE FROM events WHERE n = ?", n); err != nil {
			return err
		}
		if err := w.tx.Exec("DELETE FROM texts WHERE n = ?", n); err != nil {
			return err
		}
	}
	if _, err := w.tx.One("SELECT head, doubtful FROM places WHERE a = ?", func(r sealedfile.Row) error {
		before, doubted = r.Int(0), r.Int(1)
		return nil
	}, a); err != nil || head == before && doubtful == doubted {
		return err
	}
	w.changes.Heads++
	if err := w.tx.Exec("UPDATE counter SET seq = seq + 1"); err != nil {
		return err
	}
	var number any = head
	if head == 0 {
		number = nil
	}
	return w.tx.Exec("UPDATE places SET head = ?, doubtful = ?, seq = (SELECT seq FROM counter) WHERE a = ?", number, doubtful, a)
}
