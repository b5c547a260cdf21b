package localcopy

import (
	"context"
	"iter"
	"strings"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
)

// Head is what stands at an address.
type Head struct {
	Slug      string // "" if nothing at the address was ever readable
	ID        string // of the event, 64 hex digits
	CreatedAt int64  // Unix seconds
	Tombstone bool
	Size      int    // of the text, in bytes
	Hash      string // of the text, SHA-256 in hex; "" without one
	// Unreadable is why nothing at the address can be read; "" if it can.
	Unreadable string
	// Doubtful is how many events there claim to be newer and cannot be read.
	Doubtful int
	Relays   []string // that have this event, by URL
	Shown    Shown    // what relays show of it
}

// View is one state of a copy. It is valid while the function runs that it was
// given to, on the goroutine of that.
type View struct {
	m     *Copy
	tx    *sealedfile.Tx
	urls  map[int64]string // of relays
	index *recall.Index
}

// Read runs a function on one state of the copy, with an index that fits it.
// It must not call the copy's own methods, nor wait for anything. If the file
// turns out to be damaged, the function is called once more, on an empty copy.
func (m *Copy) Read(ctx context.Context, do func(*View) error) error {
	if err := expire(ctx, m); err != nil {
		return err
	}
	return m.file.Mended(ctx, func() error {
		if done, err := readShared(ctx, m, do); done {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.file.Read(ctx, func(tx *sealedfile.Tx) error {
			if err := m.advance(ctx, tx); err != nil {
				return err
			}
			return show(m, tx, do)
		})
	})
}

// readShared is Read beside others, if the index is that of the file.
func readShared(ctx context.Context, m *Copy, do func(*View) error) (done bool, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.index == nil {
		return false, nil
	}
	err = m.file.Read(ctx, func(tx *sealedfile.Tx) error {
		c, err := counterOf(tx)
		if err != nil || c.seq != m.at || m.round != tx.Round() {
			return err
		}
		done = true
		return show(m, tx, do)
	})
	return done || err != nil, err
}

func show(m *Copy, tx *sealedfile.Tx, do func(*View) error) error {
	return do(&View{m: m, tx: tx, index: m.index})
}

// Index returns the index of all texts but those of Reserved. It is for reading.
func (v *View) Index() *recall.Index { return v.index }

// Freshness is Copy.Freshness of this state.
func (v *View) Freshness(relays []string) Freshness {
	f, err := freshness(v.m, v.tx, relays)
	v.tx.Fail(err)
	return f
}

// hides reports whether a head is not to be told of: see Options.AsOwner.
func (v *View) hides(s Shown) bool { return v.m.asOwner && s == ShownNone }

// Unshown is what this machine knows and no relay shows, but for machine's matter and
// what was written just now.
type Unshown struct {
	// Older counts heads that are newer than what relays show, None those of which they
	// show nothing, and Lacking what the machine's state knows of beside them.
	Older, None, Lacking int
	Newest               int64 // when the newest of these heads was written, in Unix seconds
	Hidden               bool  // None are not told: see Options.AsOwner
}

// All counts all of it.
func (u Unshown) All() int { return u.Older + u.None + u.Lacking }

// Behind returns what no relay shows.
func (v *View) Behind() Unshown { return unshown(v.m, v.tx) }

// Unshown is View.Behind, without the index that a View has.
func (m *Copy) Unshown(ctx context.Context) (u Unshown, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error { u = unshown(m, tx); return tx.Err() })
	return u, err
}

func unshown(m *Copy, tx *sealedfile.Tx) (u Unshown) {
	for r := range tx.Rows("SELECT p.behind, p.slug, e.state, e.created FROM places p JOIN events e ON e.n = p.head WHERE p.behind > 0 AND (e.created <= ? OR e.created > ?)", m.now().Add(-callsBehind).Unix(), m.now().Unix()) {
		switch {
		case Reserved(r.Text(1)) || Shown(r.Int(0)) == ShownNone && r.Int(2) != withText:
			continue
		case Shown(r.Int(0)) == ShownNone:
			u.None++
		default:
			u.Older++
		}
		u.Newest = max(u.Newest, r.Int(3))
	}
	u.Lacking, u.Hidden = max(0, int(tx.Int("SELECT lacking FROM counter"))), m.asOwner
	return u
}

const headQuery = "SELECT " + eventColumns + ", p.doubtful, (SELECT group_concat(h.r) FROM held h WHERE h.n = e.n), p.behind FROM places p JOIN events e ON e.n = p.head "

// Head returns what stands at a slug; false if nothing is known of one.
func (v *View) Head(slug string) (h Head, ok bool) {
	d := v.m.address(slug)
	for h = range v.heads(headQuery+"WHERE p.d = ?", d[:]) {
		return h, true
	}
	return Head{}, false
}

// Heads returns what can be read at slugs that begin with a prefix, by slug:
// texts and tombstones, reserved ones too.
func (v *View) Heads(prefix string) iter.Seq[Head] {
	return func(yield func(Head) bool) {
		// No slug has a byte above "z".
		for h := range v.heads(headQuery+"WHERE p.slug <> '' AND p.slug >= ? AND p.slug < ? ORDER BY p.slug", prefix, prefix+"\x7f") {
			if h.Unreadable == "" && !yield(h) {
				return
			}
		}
	}
}

// Unreadable returns the addresses at which nothing can be read, in the order of
// their d tags.
func (v *View) Unreadable() iter.Seq[Head] {
	// The state stands there as a number, so that its index serves: every search asks this.
	return v.heads(headQuery + "WHERE e.state = 2 AND p.a = e.a ORDER BY p.d")
}

func (v *View) heads(sql string, args ...any) iter.Seq[Head] {
	return func(yield func(Head) bool) {
		if v.urls == nil {
			v.urls = map[int64]string{}
			for r := range v.tx.Rows("SELECT r, url FROM relays") {
				v.urls[r.Int(0)] = r.Text(1)
			}
		}
		for r := range v.tx.Rows(sql, args...) {
			e, err := v.m.seal.readEvent(r)
			if v.tx.Fail(err); err != nil {
				return
			}
			if h := v.head(e, r); !v.hides(h.Shown) && !yield(h) {
				return
			}
		}
	}
}

func (v *View) head(e event, r sealedfile.Row) Head {
	h := Head{Slug: e.slug, ID: hexID(e.id), CreatedAt: e.created, Tombstone: e.state == tombstone, Size: e.size, Unreadable: e.reason, Doubtful: int(r.Int(11)), Shown: Shown(r.Int(13))}
	if e.state == withText {
		h.Hash = hexID([32]byte(e.hash))
	}
	if e.state == unreadable {
		h.Slug, h.Doubtful = r.Text(5), 0
	}
	for n := range strings.SplitSeq(r.Text(12), ",") {
		if url := v.urls[number(n)]; url != "" {
			h.Relays = append(h.Relays, url)
		}
	}
	return h
}

// Text returns the text at a slug, whole; false if there is none. It is a
// recall.Texts.
func (v *View) Text(slug string) (text string, ok bool) {
	d := v.m.address(slug)
	for r := range v.tx.Rows("SELECT "+eventColumns+", t.text, p.behind FROM places p JOIN events e ON e.n = p.head JOIN texts t ON t.n = e.n WHERE p.d = ?", d[:]) {
		if v.hides(Shown(r.Int(12))) {
			continue
		}
		e, err := v.m.seal.readEvent(r)
		if err == nil {
			text, err = textOf(e, r.Raw(11))
		}
		ok = err == nil
		v.tx.Fail(err)
	}
	return text, ok && v.tx.Err() == nil
}
