package localcopy

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"engramd/internal/memory/meaning"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
	"engramd/nips/frontmatter"
)

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
	found := false
	for r := range tx.Rows("SELECT seq, floor FROM counter") {
		found, c = true, counter{r.Int(0), r.Int(1)}
	}
	if !found {
		tx.Fail(damaged("the counter"))
	}
	return c, tx.Err()
}

// advance brings the index to the state of a transaction. The caller holds
// the copy's mu alone.
func (x *indexed) advance(ctx context.Context, tx *sealedfile.Tx) error {
	c, err := counterOf(tx)
	if err != nil {
		return err
	}
	if x.index == nil || x.round != tx.Round() || x.at < c.floor || x.at > c.seq {
		x.load(tx, c)
	}
	if x.at == c.seq {
		return nil
	}
	for r := range tx.Rows("SELECT "+eventColumns+", t.text, p.behind FROM places p JOIN events e ON e.n = p.head LEFT JOIN texts t ON t.n = e.n WHERE p.seq > ? ORDER BY p.seq", x.at) {
		e, err := x.seal.readEvent(r)
		text := ""
		if err == nil && e.state == withText {
			text, err = textOf(e, r.Raw(11))
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if e.state == withText && !(x.asOwner && Shown(r.Int(12)) == ShownNone) {
			x.take(e, text)
		} else {
			x.index.Remove(r.Text(5))
		}
	}
	for r := range tx.Rows("SELECT slug FROM places WHERE head IS NULL AND seq > ?", x.at) {
		x.index.Remove(r.Text(0))
	}
	if tx.Err() == nil {
		x.at = c.seq
	}
	return tx.Err()
}

// take puts a text into the index.
func (x *indexed) take(e event, text string) {
	if Reserved(e.slug) {
		return
	}
	if err := x.index.Put(meaning.Document(e.slug, frontmatter.Parse(text), time.Unix(e.created, 0).UTC())); err != nil {
		// An index that is full does not find this one. It is listed all the same.
		x.index.Remove(e.slug)
	}
}

// keptAs is what the kept index is of: its vectors are those of one matrix.
func keptAs() string { return "index, " + meaning.Matrix{}.Name() }

// load reads the kept index, or begins an empty one if there is none that fits.
func (x *indexed) load(tx *sealedfile.Tx, c counter) {
	x.index, x.round, x.at = recall.New(), tx.Round(), 0
	for r := range tx.Rows("SELECT seq, mac, blob FROM kept") {
		seq := r.Int(0)
		mac := r.Raw(1)
		if seq < c.floor || seq > c.seq || !x.seal.holds(mac[:min(len(mac), macBytes)], keptAs(), numbers(seq), r.Raw(2)) {
			return
		}
		kept, err := recall.Decode(r.Raw(2))
		if err != nil {
			x.outdated = true
		} else {
			x.index, x.at = kept, seq
		}
	}
}

// noneExternal is said, behind the MAC of a kept index, of one without an external text.
const noneExternal = "none external"

// NoneExternal reports whether no text of m is an external one, as far as that can
// be said without the index: who writes need not look what he copied then. It is false
// where nobody knows.
func NoneExternal(ctx context.Context, m *Copy) (none bool, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		c, err := counterOf(tx)
		if err != nil {
			return err
		}
		none = false
		var at int64
		for r := range tx.Rows("SELECT seq, mac FROM kept") {
			at = r.Int(0)
			mac := r.Raw(1)
			none = at >= c.floor && at <= c.seq && len(mac) > macBytes && m.seal.holds(mac[macBytes:], noneExternal, numbers(at), mac[:macBytes])
		}
		if !none {
			return tx.Err()
		}
		for r := range tx.Rows("SELECT "+eventColumns+", t.text FROM places p JOIN events e ON e.n = p.head JOIN texts t ON t.n = e.n WHERE p.seq > ?", at) {
			e, err := m.seal.readEvent(r)
			text := ""
			if err == nil {
				text, err = textOf(e, r.Raw(11))
			}
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			none = none && recall.Of(e.slug, frontmatter.Parse(text), time.Time{}).Trust != frontmatter.External
		}
		return tx.Err()
	})
	return none && err == nil, err
}

// keepIndexNow keeps the index if it is time and much has changed. That it does
// not succeed is no failure: the index can be made anew.
func keepIndexNow(ctx context.Context, m *Copy) {
	m.mu.RLock()
	due := m.now().Sub(m.sealed) >= keepEvery
	m.mu.RUnlock()
	if due {
		_ = m.file.Mended(ctx, func() error { return keepIndex(ctx, m, worthKeeping) })
	}
}

// keepIndex writes the index into the file if that many changes are not in the
// one that is kept there, and forgets what only an older index needs.
func keepIndex(ctx context.Context, m *Copy, worth int64) error {
	behind, err := unindexed(ctx, m)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if behind < worth && !m.outdated {
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
		mac := m.seal.mac(keptAs(), numbers(m.at), blob)
		if !recall.External(m.index) {
			mac = append(mac, m.seal.mac(noneExternal, numbers(m.at), mac)...)
		}
		tx.Exec("DELETE FROM kept")
		tx.Exec("INSERT INTO kept (one, seq, mac, blob) VALUES (1, ?, ?, ?)", m.at, mac, blob)
		m.outdated = m.outdated && tx.Err() != nil
		return tidy(tx)
	})
}

// unindexed is how many changes are not in the kept index.
func unindexed(ctx context.Context, m *Copy) (n int64, err error) {
	err = m.file.Read(ctx, func(tx *sealedfile.Tx) error {
		n = tx.Int("SELECT seq - coalesce((SELECT seq FROM kept), 0) FROM counter")
		return nil
	})
	return n, err
}

// tidy forgets addresses where nothing is any more, now that the kept index does
// not have them, and vectors of texts that are gone.
func tidy(tx *sealedfile.Tx) error {
	tx.Exec("DELETE FROM places WHERE head IS NULL AND NOT EXISTS (SELECT 1 FROM events e WHERE e.a = places.a)")
	if tx.Changed() > 0 {
		tx.Exec("UPDATE counter SET floor = seq")
	}
	return tx.Exec("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM events WHERE hash IS NOT NULL)")
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
