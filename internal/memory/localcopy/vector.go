package localcopy

import (
	"context"
	"fmt"
	"iter"

	"engramd/internal/memory/meaning"
	"engramd/internal/memory/state/sealedfile"
)

// PutVectors keeps the vectors of a text's sections, by the model's name and the
// text's hash (Head.Hash), in place of those that are there.
func (m *Copy) PutVectors(ctx context.Context, model, hash string, sections []meaning.Vector) error {
	id, ok := decodeID(hash)
	if !ok || model == "" || len(sections) == 0 {
		return fmt.Errorf("%w: a model, a hash and vectors are needed", meaning.ErrVectors)
	}
	dim := len(sections[0])
	if dim == 0 || dim > meaning.MaxDim {
		return fmt.Errorf("%w: one is empty or too long", meaning.ErrVectors)
	}
	blob := make([]byte, 0, 2+dim*len(sections))
	blob = append(blob, byte(dim), byte(dim>>8))
	for _, v := range sections {
		if len(v) != dim {
			return fmt.Errorf("%w: their lengths differ", meaning.ErrVectors)
		}
		for _, x := range v {
			blob = append(blob, byte(x))
		}
	}
	return alter(ctx, m, func(tx *sealedfile.Tx) error {
		tx.Exec("INSERT OR IGNORE INTO models (name) VALUES (?)", model)
		return tx.Exec("INSERT OR REPLACE INTO vectors (m, hash, mac, sections) VALUES ((SELECT m FROM models WHERE name = ?), ?, ?, ?)",
			model, id[:], m.seal.mac("vectors", []byte(model), id[:], blob), blob)
	})
}

// OnlyModel forgets the vectors of all other models.
func (m *Copy) OnlyModel(ctx context.Context, model string) error {
	return alter(ctx, m, func(tx *sealedfile.Tx) error {
		tx.Exec("DELETE FROM vectors WHERE m NOT IN (SELECT m FROM models WHERE name = ?)", model)
		return tx.Exec("DELETE FROM models WHERE name <> ?", model)
	})
}

// VectorsAt tells one state of texts and vectors from the next, for who keeps
// vectors in memory.
func (v *View) VectorsAt() (state [2]int64) {
	for r := range v.tx.Rows("SELECT (SELECT seq FROM counter), (SELECT coalesce(max(rowid), 0) FROM vectors)") {
		state = [2]int64{r.Int(0), r.Int(1)}
	}
	return state
}

const vectorsOf = " JOIN vectors v ON v.hash = e.hash AND v.m = (SELECT m FROM models WHERE name = ?) "

// AllVectors returns those of all texts that have them.
func (v *View) AllVectors(model string) iter.Seq2[string, []meaning.Vector] {
	return v.vectors(model, "SELECT p.slug, v.hash, v.mac, v.sections FROM places p JOIN events e ON e.n = p.head"+vectorsOf, model)
}

func (v *View) vectors(model, sql string, args ...any) iter.Seq2[string, []meaning.Vector] {
	return func(yield func(string, []meaning.Vector) bool) {
		for r := range v.tx.Rows(sql, args...) {
			blob := r.Raw(3)
			sections, ok := parseVectors(blob)
			if !ok || !v.m.seal.holds(r.Raw(2), "vectors", []byte(model), r.Raw(1), blob) {
				v.tx.Fail(damaged("a vector"))
				return
			}
			if !yield(r.Text(0), sections) {
				return
			}
		}
	}
}

// parseVectors reads what PutVectors wrote.
func parseVectors(blob []byte) ([]meaning.Vector, bool) {
	if len(blob) < 2 {
		return nil, false
	}
	dim := int(blob[0]) | int(blob[1])<<8
	blob = blob[2:]
	if dim == 0 || dim > meaning.MaxDim || len(blob) == 0 || len(blob)%dim != 0 {
		return nil, false
	}
	all := make(meaning.Vector, len(blob))
	for i, b := range blob {
		all[i] = int8(b)
	}
	sections := make([]meaning.Vector, 0, len(all)/dim)
	for ; len(all) > 0; all = all[dim:] {
		sections = append(sections, all[:dim:dim])
	}
	return sections, true
}

// Lacking returns slugs and hashes of texts that have no vectors of a model, at
// most that many, by slug. Reserved and archived ones need none.
func (v *View) Lacking(model string, most int) []Head {
	var out []Head
	archived := v.archived()
	const sql = headQuery + `WHERE e.state = 0 AND p.slug <> '' AND NOT EXISTS (
		SELECT 1 FROM vectors v WHERE v.hash = e.hash AND v.m = (SELECT m FROM models WHERE name = ?)) ORDER BY p.slug`
	for h := range v.heads(sql, model) {
		if len(out) >= most {
			break
		}
		if !Reserved(h.Slug) && !archived[h.Slug] {
			out = append(out, h)
		}
	}
	return out
}
