package localcopy

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// An event is kept as it was signed: one byte of how, the signature, the tags and the
// content. What is left out of it stands in the event's row. Tags that are d and p, and
// then perhaps alt, are not kept, and content is kept as the bytes that base64 stands
// for: a copy is about twice the text.
const (
	rawTags   = 1 << iota // the tags stand there as JSON, behind their length
	rawAlt                // behind d and p there is alt
	rawBase64             // the content is base64 of what stands there
)

const sigBytes = 64

// codec packs the events of a pair, of public keys in hex.
type codec struct{ agent, owner string }

// pack makes what is kept of an event; nil if it is not one that can be made again.
func (c codec) pack(ev *nostr.Event) []byte {
	sig, err := hex.DecodeString(ev.Sig)
	if err != nil || len(sig) != sigBytes {
		return nil
	}
	var how byte
	var tags []byte
	switch {
	case slices.EqualFunc(ev.Tags, c.tags(ev.Tags.GetD(), false), slices.Equal[nostr.Tag]):
	case slices.EqualFunc(ev.Tags, c.tags(ev.Tags.GetD(), true), slices.Equal[nostr.Tag]):
		how |= rawAlt
	default:
		how |= rawTags
		text, err := json.Marshal(ev.Tags)
		if err != nil {
			return nil
		}
		tags = append(binary.AppendUvarint(nil, uint64(len(text))), text...)
	}
	content := []byte(ev.Content)
	if plain, err := base64.StdEncoding.Strict().DecodeString(ev.Content); err == nil && base64.StdEncoding.EncodeToString(plain) == ev.Content {
		content, how = plain, how|rawBase64
	}
	return slices.Concat([]byte{how}, sig, tags, content)
}

func (c codec) tags(d string, alt bool) nostr.Tags {
	tags := nostr.Tags{{"d", d}, {"p", c.owner}}
	if alt {
		tags = append(tags, nostr.Tag{"alt", nipae.AltText})
	}
	return tags
}

// unpack makes an event again, as it was signed; nil if it is not the one that was
// kept.
func (c codec) unpack(e event, raw []byte) *nostr.Event {
	if len(raw) < 1+sigBytes {
		return nil
	}
	how := raw[0]
	ev := &nostr.Event{ID: hexID(e.id), PubKey: c.agent, CreatedAt: nostr.Timestamp(e.created), Kind: nipae.Kind, Sig: hex.EncodeToString(raw[1 : 1+sigBytes])}
	raw = raw[1+sigBytes:]
	ev.Tags = c.tags(hexID(e.d), how&rawAlt != 0)
	if how&rawTags != 0 {
		size, n := binary.Uvarint(raw)
		if n <= 0 || size > uint64(len(raw)-n) || json.Unmarshal(raw[n:n+int(size)], &ev.Tags) != nil {
			return nil
		}
		raw = raw[n+int(size):]
	}
	if ev.Content = string(raw); how&rawBase64 != 0 {
		ev.Content = base64.StdEncoding.EncodeToString(raw)
	}
	if wire.ID(ev) != ev.ID {
		return nil
	}
	return ev
}

// raw keeps an event as it was signed, again if it was dropped by a clock that was ahead.
func (w *writing) raw(a, n int64, ev *nostr.Event) {
	raw := w.m.codec.pack(ev)
	if raw == nil {
		return
	}
	expires, _ := nipae.Expiration(ev)
	w.tx.Exec(`INSERT INTO raws (n, expires, raw) VALUES (?, ?, ?)
		ON CONFLICT (n) DO UPDATE SET expires = excluded.expires, raw = excluded.raw WHERE raws.expires < 0 AND excluded.expires > ?`, n, expires, raw, w.m.now().Unix())
	w.touched[a] = w.touched[a] || w.tx.Changed() > 0
}

// Bare returns what a relay was last seen to have and is not kept as it was signed,
// at most putAtOnce: versions before this one kept texts alone.
func (m *Copy) Bare(ctx context.Context, relay string) (ids [][32]byte, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		ids = nil
		for r := range tx.Rows(`SELECT e.id FROM places p JOIN events e ON e.n = p.head JOIN held h ON h.n = e.n AND h.r = (SELECT r FROM relays WHERE url = ?)
			WHERE NOT EXISTS (SELECT 1 FROM raws WHERE n = e.n) LIMIT ?`, canonical(relay), putAtOnce) {
			if len(r.Raw(0)) != 32 {
				return damaged("an event")
			}
			ids = append(ids, [32]byte(r.Raw(0)))
		}
		return nil
	})
	return ids, err
}

// Shown is what relays show of the place of a head.
type Shown int

// What is shown of it.
const (
	ShownNow   Shown = iota // the head
	ShownOlder              // an older version
	ShownNone               // nothing
)

// Last is the newest that the copy has of an address.
type Last struct {
	D         string // the address, 64 hex digits
	ID        string
	Slug      string
	CreatedAt int64 // Unix seconds
	Tombstone bool
	Expires   int64 // Unix seconds, 0 for never
	Shown     Shown
	Event     *nostr.Event // as it was signed; nil: the text alone is here
}

const lastQuery = "SELECT " + eventColumns + ", p.behind, abs(w.expires), w.raw FROM places p JOIN events e ON e.n = p.head LEFT JOIN raws w ON w.n = e.n "

func last(m *Copy, tx *sealedfile.Tx, sql string, args ...any) (all []Last) {
	for r := range tx.Rows(sql, args...) {
		e, err := m.seal.readEvent(r)
		if tx.Fail(err); err != nil {
			return nil
		}
		if e.state == unreadable {
			continue
		}
		l := Last{D: hexID(e.d), ID: hexID(e.id), Slug: e.slug, CreatedAt: e.created, Tombstone: e.state == tombstone, Shown: Shown(r.Int(11)), Expires: r.Int(12)}
		if !r.Null(13) {
			l.Event = m.codec.unpack(e, r.Raw(13))
		}
		all = append(all, l)
	}
	return all
}

// At returns the newest that the copy has of an address, 64 hex digits; false if
// nothing there can be read.
func (m *Copy) At(ctx context.Context, d string) (l Last, ok bool, err error) {
	all, err := m.Those(ctx, []string{d})
	l, ok = all[d]
	return l, ok, err
}

// Those is At of many addresses, by these: without those where nothing can be read.
func (m *Copy) Those(ctx context.Context, ds []string) (all map[string]Last, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		all = make(map[string]Last, len(ds))
		for _, d := range ds {
			at, ok := decodeID(d)
			if !ok {
				continue
			}
			for _, l := range last(m, tx, lastQuery+"WHERE p.d = ?", at[:]) {
				all[d] = l
			}
		}
		return tx.Err()
	})
	return all, err
}

// Newest returns the newest that the copy has of each address, without the events. Rows
// are not checked, which takes longest: At does that.
func (m *Copy) Newest(ctx context.Context) ([]Last, error) { return newest(ctx, m, "") }

// Behind is Newest of the heads that no relay shows.
func (m *Copy) Behind(ctx context.Context) ([]Last, error) {
	return newest(ctx, m, " AND p.behind > 0")
}

// Differing is Newest of the heads that one relay was last seen to have, and another, which
// was compared in full, not.
func Differing(ctx context.Context, m *Copy) ([]Last, error) {
	several := false
	err := m.read(ctx, func(tx *sealedfile.Tx) error { several = tx.Int("SELECT count(*) FROM relays") > 1; return tx.Err() })
	if err != nil || !several { // what one relay has another cannot lack
		return nil, err
	}
	return newest(ctx, m, " AND p.behind = 0 AND EXISTS (SELECT 1 FROM relays r WHERE r.complete = 1 AND NOT EXISTS (SELECT 1 FROM held h WHERE h.n = p.head AND h.r = r.r))")
}

func newest(ctx context.Context, m *Copy, and string) (all []Last, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		all = nil
		for r := range tx.Rows("SELECT p.d, e.id, e.created, e.state, p.behind, abs(w.expires) FROM places p JOIN events e ON e.n = p.head LEFT JOIN raws w ON w.n = e.n WHERE e.state <> ?"+and, unreadable) {
			all = append(all, Last{D: hex.EncodeToString(r.Raw(0)), ID: hex.EncodeToString(r.Raw(1)), CreatedAt: r.Int(2), Tombstone: r.Int(3) == tombstone, Shown: Shown(r.Int(4)), Expires: r.Int(5)})
		}
		return tx.Err()
	})
	return all, err
}

// Lacks counts of each relay the heads that another of those was last seen to have and it
// was not, by URL; none of one that was never compared in full.
func (m *Copy) Lacks(ctx context.Context, relays, others []string) (lacks map[string]int64, err error) {
	them := make([]string, len(others))
	for i, url := range others {
		them[i] = canonical(url)
	}
	text, err := json.Marshal(them)
	if err != nil {
		return nil, err
	}
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		lacks = map[string]int64{}
		for _, url := range relays {
			n := tx.Int(`SELECT count(*) FROM places p JOIN relays r ON r.url = ? AND r.complete = 1
				WHERE EXISTS (SELECT 1 FROM held h JOIN relays o ON o.r = h.r WHERE h.n = p.head AND o.url IN (SELECT value FROM json_each(?)))
				AND NOT EXISTS (SELECT 1 FROM held h WHERE h.n = p.head AND h.r = r.r)`, canonical(url), string(text))
			if n > 0 {
				lacks[url] = n
			}
		}
		return tx.Err()
	})
	return lacks, err
}

// Lacking is of how many addresses the machine's state knows newer versions than the
// copy, and has no text; -1 where nobody has compared the two since the file began.
func (m *Copy) Lacking(ctx context.Context) (n int, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		n = int(tx.Int("SELECT lacking FROM counter"))
		return tx.Err()
	})
	return n, err
}

// SetLacking notes what Lacking returns.
func (m *Copy) SetLacking(ctx context.Context, n int) error {
	return m.write(ctx, func(w *writing) error { return w.tx.Exec("UPDATE counter SET lacking = ?", n) }, &Changes{})
}

// Drop drops heads that no relay shows, by their ids: an act of the agent's key ended
// them, or their loss was accepted.
func (m *Copy) Drop(ctx context.Context, ids ...string) (Changes, error) {
	var changes Changes
	err := m.write(ctx, func(w *writing) error {
		for _, id := range ids {
			at, ok := decodeID(id)
			if !ok {
				continue
			}
			for r := range w.tx.Rows("SELECT e.n, e.a FROM events e WHERE e.id = ? AND NOT EXISTS (SELECT 1 FROM held h WHERE h.n = e.n)", at[:]) {
				w.touched[r.Int(1)] = true
				w.drop(r.Int(0))
			}
		}
		return nil
	}, &changes)
	return changes, err
}

// Find returns events that the copy has, by their ids.
func (m *Copy) Find(ctx context.Context, ids []string) (found []Last, err error) {
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		found = nil
		for _, id := range ids {
			at, ok := decodeID(id)
			if !ok {
				continue
			}
			found = append(found, last(m, tx, "SELECT "+eventColumns+", 0, abs(w.expires), NULL FROM events e JOIN places p ON p.a = e.a LEFT JOIN raws w ON w.n = e.n WHERE e.id = ?", at[:])...)
		}
		return tx.Err()
	})
	return found, err
}

// callsBehind is how old a head must be that no relay shows, to be called behind: a
// relay that follows another takes a moment.
const callsBehind = 30 * time.Second
