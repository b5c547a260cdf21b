package localcopy

import (
	"context"
	"errors"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Mark is how far a relay was seen.
type Mark struct {
	// Newest is the created_at of the newest event that it showed, Unix seconds.
	Newest int64
	// Confirmed is when it last said that nothing else is there; Compared when all
	// that it has was last compared.
	Confirmed, Compared time.Time
	// Complete says that all that it has is here; false while the copy is built.
	Complete bool

	// Life tells what was noted from what is noted once the relay was forgotten,
	// or another file has begun; 0 is of neither: see Begin.
	Life int64
}

// ErrForgotten means that what was noted of a relay is gone since it was read,
// and what the copy had from it too.
var ErrForgotten = errors.New("what the relay has was forgotten meanwhile")

// Begin is Mark for who compares a relay and then notes how far it was seen: if
// the relay is forgotten in between, or another file begins, SetMark of that
// mark fails with ErrForgotten.
func (m *Copy) Begin(ctx context.Context, relay string) (mark Mark, err error) {
	if mark, err = m.Mark(ctx, relay); err != nil || mark.Life != 0 {
		return mark, err
	}
	err = m.write(ctx, func(w *writing) error {
		r, err := w.relay(relay)
		if err != nil {
			return err
		}
		w.tx.Exec("UPDATE relays SET life = "+newLife+" WHERE r = ? AND life = 0", r) // one of before there were lives has none
		mark, err = m.seal.markAt(w.tx, relay)
		return err
	}, &Changes{})
	return mark, err
}

// newLife is a number that is not 0, and hardly ever twice the same.
const newLife = "(random() | 1)"

// Mark returns what was noted of a relay; the zero Mark if nothing was.
func (m *Copy) Mark(ctx context.Context, relay string) (mark Mark, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		mark, err = m.seal.markAt(tx, relay)
		return err
	})
	return mark, err
}

// SetMark notes how far a relay was seen, in place of what was noted. A mark that
// Begin gave, or one made from it, is noted only in its place.
func (m *Copy) SetMark(ctx context.Context, relay string, mark Mark) error {
	return m.write(ctx, func(w *writing) error { return w.mark(relay, mark) }, &Changes{})
}

func (w *writing) mark(relay string, mark Mark) error {
	url := canonical(relay)
	if mark.Life != 0 && !w.tx.Has("SELECT 1 FROM relays WHERE url = ? AND life = ?", url, mark.Life) {
		return ErrForgotten
	}
	newest, confirmed, compared, complete := mark.Newest, milli(mark.Confirmed), milli(mark.Compared), int64(0)
	if mark.Complete {
		complete = 1
	}
	mac := w.m.seal.mac("mark", []byte(url), numbers(newest, confirmed, compared, complete))
	return w.tx.Exec(`INSERT INTO relays (url, newest, confirmed, compared, complete, mac, life) VALUES (?, ?, ?, ?, ?, ?, `+newLife+`)
		ON CONFLICT (url) DO UPDATE SET newest = excluded.newest, confirmed = excluded.confirmed, compared = excluded.compared, complete = excluded.complete, mac = excluded.mac`,
		url, newest, confirmed, compared, complete, mac)
}

func (s sealer) markAt(tx *sealedfile.Tx, relay string) (mark Mark, err error) {
	url := canonical(relay)
	for r := range tx.Rows("SELECT newest, confirmed, compared, complete, mac, life FROM relays WHERE url = ?", url) {
		if !s.holds(r.Raw(4), "mark", []byte(url), numbers(r.Int(0), r.Int(1), r.Int(2), r.Int(3))) {
			return mark, damaged("a mark")
		}
		mark = Mark{Newest: r.Int(0), Confirmed: fromMilli(r.Int(1)), Compared: fromMilli(r.Int(2)), Complete: r.Int(3) == 1, Life: r.Int(5)}
	}
	return mark, tx.Err()
}

// Relays returns the URLs of all relays that are noted, in their canonical form.
func (m *Copy) Relays(ctx context.Context) (urls []string, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		urls = nil
		for r := range tx.Rows("SELECT url FROM relays ORDER BY url") {
			urls = append(urls, r.Text(0))
		}
		return nil
	})
	return urls, err
}

// FreshFor is how long what a relay confirmed counts as what it has.
const FreshFor = time.Minute

// Freshness is how far a copy can be believed.
type Freshness struct {
	// AsOf is when all relays had confirmed what is here; zero if one never has.
	AsOf time.Time
	// Latest is when one of them last did.
	Latest time.Time
	// Stale says that not every relay has confirmed it within FreshFor.
	Stale bool
	// Unfinished says that all of what some relay has was never here: the copy
	// is being built.
	Unfinished bool
}

// Freshness judges the copy by the relays that are asked. Without any it is
// stale.
func (m *Copy) Freshness(ctx context.Context, relays []string) (f Freshness, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		f, err = freshness(m, tx, relays)
		return err
	})
	return f, err
}

func freshness(m *Copy, tx *sealedfile.Tx, relays []string) (Freshness, error) {
	f := Freshness{Stale: len(relays) == 0, Unfinished: len(relays) == 0}
	now := m.now()
	for i, relay := range relays {
		mark, err := m.seal.markAt(tx, relay)
		if err != nil {
			return Freshness{Stale: true, Unfinished: true}, err
		}
		at := mark.Confirmed
		if at.After(now.Add(FreshFor)) { // the clock was wrong then, or is now
			at = time.Time{}
		}
		if i == 0 || at.Before(f.AsOf) {
			f.AsOf = at
		}
		if at.After(f.Latest) {
			f.Latest = at
		}
		f.Stale = f.Stale || now.Sub(at) > FreshFor
		f.Unfinished = f.Unfinished || !mark.Complete
	}
	return f, nil
}

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMilli(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
