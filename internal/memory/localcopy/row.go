package localcopy

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// What an event is.
const (
	withText = iota
	tombstone
	unreadable
)

// event is an event as it lies in the file.
type event struct {
	n, place int64
	id, d    [32]byte
	created  int64
	slug     string // "" if it is unreadable
	state    int
	reason   string // why it is unreadable
	size     int
	hash     []byte // of the text, SHA-256
}

// macBytes is how much of an HMAC is kept.
const macBytes = 16

// sealer makes what a row must have to be believed. Its key is behind a closure,
// out of reach of fmt.
type sealer struct{ key func() []byte }

// mac is over the kind of row and its parts, each behind its length.
func (s sealer) mac(kind string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, s.key())
	var size [8]byte
	for _, p := range append([][]byte{[]byte(kind)}, parts...) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write(p)
	}
	return h.Sum(nil)[:macBytes]
}

func (s sealer) holds(mac []byte, kind string, parts ...[]byte) bool {
	return hmac.Equal(mac, s.mac(kind, parts...))
}

func (e *event) parts() [][]byte {
	return [][]byte{e.id[:], e.d[:], numbers(e.created, int64(e.state), int64(e.size)), []byte(e.slug), []byte(e.reason), e.hash}
}

func numbers(all ...int64) []byte {
	var out []byte
	for _, n := range all {
		out = binary.LittleEndian.AppendUint64(out, uint64(n))
	}
	return out
}

// eventColumns are those that readEvent reads, of events e and places p.
const eventColumns = "e.n, p.a, e.id, p.d, e.created, p.slug, e.state, e.reason, e.size, e.hash, e.mac"

// readEvent reads a row that begins with eventColumns. The error is
// sealedfile.ErrDamaged.
func (s sealer) readEvent(r sealedfile.Row) (event, error) {
	e := event{n: r.Int(0), place: r.Int(1), created: r.Int(4), slug: r.Text(5), state: int(r.Int(6)), reason: r.Text(7), size: int(r.Int(8)), hash: r.Blob(9)}
	if len(r.Raw(2)) != 32 || len(r.Raw(3)) != 32 {
		return e, damaged("an event")
	}
	copy(e.id[:], r.Raw(2))
	copy(e.d[:], r.Raw(3))
	if e.state == unreadable {
		e.slug = ""
	}
	if !s.holds(r.Raw(10), "event", e.parts()...) {
		return e, damaged("an event")
	}
	return e, nil
}

// textOf checks a text that was read for an event.
func textOf(e event, text []byte) (string, error) {
	if sum := sha256.Sum256(text); e.state != withText || string(sum[:]) != string(e.hash) {
		return "", damaged("a text")
	}
	return string(text), nil
}

// addressOf keeps the key behind a closure, out of reach of fmt.
func addressOf(p Pair) func(string) [32]byte {
	return func(slug string) [32]byte {
		d, _ := decodeID(nipae.AddressIn(p.Conversation, p.Agent, p.Owner, nipae.Slug(slug)))
		return d
	}
}

// decodeID reads 64 lower-case hex digits.
func decodeID(s string) (id [32]byte, ok bool) {
	if len(s) != 2*len(id) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err == nil && hex.EncodeToString(id[:]) == s
}

// archived are the slugs of archived texts.
func (v *View) archived() map[string]bool {
	all := map[string]bool{}
	for _, l := range v.index.Matching(recall.Filter{States: []frontmatter.State{frontmatter.Archived}}) {
		all[l.Slug] = true
	}
	return all
}

// strays are vectors of texts that stand at no slug.
const strays = "FROM vectors WHERE hash NOT IN (SELECT e.hash FROM places p JOIN events e ON e.n = p.head WHERE e.hash IS NOT NULL)"

// ForgetVectors forgets the vectors of texts that stand at no slug any more, and a
// model's of archived ones. It writes only if there are any.
func (m *Copy) ForgetVectors(ctx context.Context, model string) error {
	var needless [][]byte
	stray := false
	err := m.Read(ctx, func(v *View) error {
		needless, stray = nil, false
		if archived := v.archived(); len(archived) > 0 {
			for r := range v.tx.Rows("SELECT p.slug, v.hash FROM places p JOIN events e ON e.n = p.head"+vectorsOf, model) {
				if archived[r.Text(0)] {
					needless = append(needless, r.Blob(1))
				}
			}
		}
		stray = v.tx.Has("SELECT 1 " + strays + " LIMIT 1")
		return nil
	})
	if err != nil || len(needless) == 0 && !stray {
		return err
	}
	return alter(ctx, m, func(tx *sealedfile.Tx) error {
		for _, hash := range needless { // whoever writes meanwhile: this text says that it is archived
			tx.Exec("DELETE FROM vectors WHERE hash = ?", hash)
		}
		return tx.Exec("DELETE " + strays)
	})
}
