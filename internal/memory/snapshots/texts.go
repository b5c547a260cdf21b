package snapshots

import (
	"context"
	"encoding/hex"

	"engramd/internal/protocol/wire"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// Root returns what heads_root of a bundle of the capture will be, in hex.
func (c *Capture) Root() string {
	var leaves []bundle.Leaf
	for _, ev := range c.Heads() {
		var d, id [32]byte
		if n, err := hex.Decode(d[:], []byte(ev.Tags.GetD())); err != nil || n != len(d) {
			continue // no engram has such an address: CheckShape
		}
		if n, err := hex.Decode(id[:], []byte(ev.ID)); err != nil || n != len(id) {
			continue
		}
		leaves = append(leaves, bundle.NewLeaf(d, id, int64(ev.CreatedAt)))
	}
	root := bundle.HeadsRoot(leaves)
	return hex.EncodeToString(root[:])
}

// Text is one record of a memory in plain text.
type Text struct {
	Slug      nipae.Slug
	Owner     string
	Text      string
	Removed   bool // a tombstone
	CreatedAt int64
	ID        string
	Err       error // why it cannot be read; then only Owner, CreatedAt and ID are known
}

// Texts gives yield every head of a source, decrypted, in its order.
func Texts(ctx context.Context, src bundle.Source, agent string, keys bundle.Keys, yield func(Text) error) error {
	return src.Events(ctx, bundle.Heads, func(line []byte) error {
		ev, err := wire.ParseEvent(line)
		if err != nil {
			return err
		}
		t := Text{Owner: ownerOf(ev), CreatedAt: int64(ev.CreatedAt), ID: ev.ID}
		key, ok := keys(agent, t.Owner)
		if !ok {
			t.Err = snapshot.ErrUnreadable
			return yield(t)
		}
		engram, err := nipae.Open(key, agent, t.Owner, ev)
		if err != nil {
			t.Err = err
			return yield(t)
		}
		text, live := engram.Body.Text()
		t.Slug, t.Text, t.Removed = engram.Slug(), text, !live
		return yield(t)
	})
}
