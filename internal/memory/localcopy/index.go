package localcopy

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
	"engramd/nips/frontmatter"
)

// errStop ends a reading of rows early.
var errStop = errors.New("enough")

// How many changes behind the kept index may be before it is kept anew: at
// Close, and while the copy is written, but not more often than keepEvery.
const (
	worthClosing = 32
	worthKeeping = 128
	keepEvery    = time.Minute
)

// reserved begins slugs that ordinary tools neither write nor list.
var reserved = []string{"mem/sys/", "mem/proposals/", "mem/proposals-answers/"}

// Reserved reports whether a slug is one that is kept and not in the index:
// machine's matter, and proposals.
func Reserved(slug string) bool {
	for _, prefix := range reserved {
		if strings.HasPrefix(slug, prefix) {
			return true
		}
	}
	return false
}

// counter is where the changes of heads stand.
type counter struct{ seq, floor int64 }

func counterOf(tx *sealedfile.Tx) (c counter, err error) {
	found, err := tx.One("SELECT seq, floor FROM counter", func(r sealedfile.Row) error {
		c = counter{r.Int(0), r.Int(1)}
		return nil
	})
	if err == nil && !found {
		err = damaged("the counter")
	}
	return c, err
}

// advance brings the index to the state of a transaction. The caller holds
// the copy's mu alone.
func (x *indexed) advance(ctx context.Context, tx *sealedfile.Tx) error {
	c, err := counterOf(tx)
	if err != nil {
		return err
	}
	if x.index == nil || x.at < c.floor || x.at > c.seq {
		if err := x.load(tx, c); err != nil {
			return err
		}
	}
	if x.at == c.seq {
		return nil
	}
	err = tx.Each("SELECT "+eventColumns+", t.text FROM places p JOIN events e ON e.n = p.head LEFT JOIN texts t ON t.n = e.n WHERE p.seq > ? ORDER BY p.seq", func(r sealedfile.Row) error {
		e, err := x.seal.readEvent(r)
		if err != nil {
			return err
		}
		if e.state != withText {
			x.index.Remove(r.Text(5))
			return ctx.Err()
		}
		text, err := textOf(e, r.Raw(11))
		if err != nil {
			return err
		}
		x.take(e, text)
		return ctx.Err()
	}, x.at)
	if err != nil {
		return err
	}
	err = tx.Each("SELECT slug FROM places WHERE head IS NULL AND seq > ?", func(r sealedfile.Row) error {
		x.index.Remove(r.Text(0))
		return nil
	}, x.at)
	if err == nil {
		x.at = c.seq
	}
	return err
}

// take puts a text into the index.
func (x *indexed) take(e event, text string) {
	if Reserved(e.slug) {
		return
	}
	if err := x.index.Put(recall.Of(e.slug, frontmatter.Parse(text), time.Unix(e.created, 0).UTC())); err != nil {
		// An index that is full does not find this one. It is listed all the same.
		x.index.Remove(e.slug)
	}
}

// load reads the kept index, or begins an empty one if there is none that fits.
func (x *indexed) load(tx *sealedfile.Tx, c counter) error {
	x.index, x.at = recall.New(), 0
	_, err := tx.One("SELECT seq, mac, blob FROM kept", func(r sealedfile.Row) error {
		seq := r.Int(0)
		if seq < c.floor || seq > c.seq || !x.seal.holds(r.Raw(1), "index", numbers(seq), r.Raw(2)) {
			return nil
		}
		kept, err := recall.Decode(r.Raw(2))
		if err != nil || kept.Older() && !x.older {
			x.outdated = true // of another version
			return nil
		}
		x.index, x.at = kept, seq
		return nil
	})
	return err
}

// keepIndexNow keeps the index if it is time and much has changed. That it does
// not succeed is no failure: the index can be made anew.
func (m *Copy) keepIndexNow(ctx context.Context) {
	m.mu.RLock()
	due := m.now().Sub(m.sealed) >= keepEvery
	m.mu.RUnlock()
	if due {
		_ = m.mended(ctx, func() error { return m.keepIndex(ctx, worthKeeping) })
	}
}

// keepIndex writes the index into the file if that many changes are not in the
// one that is kept there, and forgets what only an older index needs.
func (m *Copy) keepIndex(ctx context.Context, worth int64) error {
	behind, err := m.behind(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if behind < worth && !m.outdated {
		return nil
	}
	if m.index != nil && m.index.Older() { // a new one is for who has time to make it
		return nil
	}
	m.sealed = m.now() // if it fails, not at once again
	// Most of the work is done while others may write.
	if err := m.file.Read(ctx, func(tx *sealedfile.Tx) error { return m.advance(ctx, tx) }); err != nil {
		return err
	}
	return m.file.Write(ctx, func(tx *sealedfile.Tx) error {
		if err := m.advance(ctx, tx); err != nil {
			return err
		}
		blob := m.index.Encode()
		if err := tx.Exec("DELETE FROM kept"); err != nil {
			return err
		}
		if err := tx.Exec("INSERT INTO kept (one, seq, mac, blob) VALUES (1, ?, ?, ?)", m.at, m.seal.mac("index", numbers(m.at), blob), blob); err != nil {
			return err
		}
		m.outdated = false
		return tidy(tx)
	})
}

// behind is how many changes are not in the kept index.
func (m *Copy) behind(ctx context.Context) (n int64, err error) {
	err = m.file.Read(ctx, func(tx *sealedfile.Tx) error {
		_, err := tx.One("SELECT seq - coalesce((SELECT seq FROM kept), 0) FROM counter", func(r sealedfile.Row) error { n = r.Int(0); return nil })
		return err
	})
	return n, err
}

// tidy forgets addresses where nothing is any more, now that the kept index does
// not have them, and vectors of texts that are gone.
func tidy(tx *sealedfile.Tx) error {
	if err := tx.Exec("DELETE FROM places WHERE head IS NULL"); err != nil {
		return err
	}
	if tx.Changed() > 0 {
		if err := tx.Exec("UPDATE counter SET floor = seq"); err != nil {
			return err
		}
	}
	return tx.Exec("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM events WHERE hash IS NOT NULL)")
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
