package localcopy

import (
	"bytes"
	"context"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
	"engramd/nips/frontmatter"
)

// archived are the slugs of archived texts.
func (v *View) archived() map[string]bool {
	all := map[string]bool{}
	if v.err != nil {
		return all
	}
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
			v.fail(v.tx.Each("SELECT p.slug, v.hash FROM places p JOIN events e ON e.n = p.head"+vectorsOf, func(r sealedfile.Row) error {
				if archived[r.Text(0)] {
					needless = append(needless, bytes.Clone(r.Raw(1)))
				}
				return nil
			}, model))
		}
		v.fail(v.tx.Each("SELECT EXISTS (SELECT 1 "+strays+")", func(r sealedfile.Row) error {
			stray = r.Int(0) == 1
			return nil
		}))
		return nil
	})
	if err != nil || len(needless) == 0 && !stray {
		return err
	}
	return m.mended(ctx, func() error {
		return m.file.Write(ctx, func(tx *sealedfile.Tx) error {
			for _, hash := range needless { // whoever writes meanwhile: this text says that it is archived
				if err := tx.Exec("DELETE FROM vectors WHERE hash = ?", hash); err != nil {
					return err
				}
			}
			return tx.Exec("DELETE " + strays)
		})
	})
}
