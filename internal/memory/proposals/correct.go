package proposals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/frontmatter"
)

// originKey holds where a text that another agent signed is from, and what it was
// when it was accepted: the address (d) of its event, the event's time in Unix
// seconds, and a hash of the text. By that a later version is known for one.
const originKey = "origin"

// stamped are the fields that accepting sets.
var stamped = []string{"created", "source", "session", "consolidated", "trust", originKey}

// marked returns the text of an origin as it is kept, with where it is from.
func (i Item) marked(o Opened) (string, error) {
	d, err := i.plain(frontmatter.Parse(o.Text))
	if err != nil {
		return "", err
	}
	return d.Edit(frontmatter.Set(originKey, frontmatter.String(fmt.Sprintf("%s %d %s", o.D, o.CreatedAt, essence(d)))))
}

// essence is a hash of a text without what accepting stamps.
func essence(d frontmatter.Doc) string {
	sum := sha256.Sum256([]byte(unstamped(d.Text())))
	return hex.EncodeToString(sum[:])
}

// corrects reports whether what was opened is a later version of a text that is kept,
// by the same author and at the same address, and nothing was changed in that here.
func (o Opened) corrects(kept string) bool {
	d := frontmatter.Parse(kept)
	v, _ := d.Value(originKey)
	said, _ := v.Scalar()
	parts := strings.Fields(said)
	if o.D == "" || len(parts) != 3 || d.Fields().Source != o.Source || parts[0] != o.D {
		return false
	}
	at, err := strconv.ParseInt(parts[1], 10, 64)
	return err == nil && at < o.CreatedAt && parts[2] == essence(d)
}

// Corrects reports whether accepting a proposal would put a later version, which the
// same agent signed, in the place of what was taken from that agent before. It is
// never done unasked. Errors are those of Accept.
func (b *Box) Corrects(ctx context.Context, item Item) (bool, error) {
	slug, err := item.target()
	if err != nil || item.Origin == nil || item.Act != Write || item.Base != memory.BaseNone {
		return false, err
	}
	opened, err := b.opened(ctx, item)
	if err != nil {
		return false, err
	}
	head, _, err := b.o.Memory.Get(ctx, slug)
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone) {
		return false, nil
	}
	return err == nil && opened.corrects(head.Text) && !item.same(slug, head.Text, opened.Text, opened.Source), err
}
