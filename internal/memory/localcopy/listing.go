package localcopy

import (
	"context"

	"engramd/internal/memory/state/sealedfile"
)

// Listed is a head as a listing shows it.
type Listed struct {
	Head
	Text    string // "" if it was not asked for
	Expires int64  // Unix seconds; 0 for never
}

// Listing returns all heads without their relays, by slug, and of each relay, by its
// canonical URL, how many events it was last seen to have. It is not plain where a
// relay may show something else: an event that cannot be read, a head that no relay
// shows, one that expires within so many seconds, or a newer one that the state knows of.
func Listing(ctx context.Context, m *Copy, texts bool, expiring int64) (all []Listed, has map[string]int, plain bool, err error) {
	if err := expire(ctx, m); err != nil {
		return nil, nil, false, err
	}
	now := m.now().Unix()
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		all, has, plain = nil, map[string]int{}, false
		if tx.Has("SELECT 1 FROM events WHERE state = 2") || tx.Has("SELECT 1 FROM places WHERE behind > 0 OR doubtful > 0") ||
			tx.Has("SELECT 1 FROM raws WHERE expires > 0 AND expires <= ?1 OR expires < 0 AND -expires > ?2", now+expiring, now-expiring) || tx.Int("SELECT lacking FROM counter") != 0 {
			return tx.Err()
		}
		for r := range tx.Rows("SELECT r.url, count(h.n) FROM relays r LEFT JOIN held h ON h.r = r.r GROUP BY r.r") {
			has[r.Text(0)] = int(r.Int(1))
		}
		text := "NULL FROM places p JOIN events e ON e.n = p.head "
		if texts {
			text = "t.text FROM places p JOIN events e ON e.n = p.head LEFT JOIN texts t ON t.n = e.n "
		}
		for r := range tx.Rows("SELECT " + eventColumns + ", w.expires, " + text + "LEFT JOIN raws w ON w.n = e.n WHERE p.slug <> '' ORDER BY p.slug") {
			e, err := m.seal.readEvent(r)
			l := Listed{Head: Head{Slug: e.slug, ID: hexID(e.id), CreatedAt: e.created, Tombstone: e.state == tombstone, Size: e.size}, Expires: r.Int(11)}
			if r.Null(11) { // it is not kept as it was signed: whether it expires is not known
				return tx.Err()
			}
			if err == nil && e.state == withText {
				if l.Hash = hexID([32]byte(e.hash)); texts {
					l.Text, err = textOf(e, r.Raw(12))
				}
			}
			if err != nil {
				return err
			}
			all = append(all, l)
		}
		plain = true
		return tx.Err()
	})
	return all, has, plain && err == nil, err
}
