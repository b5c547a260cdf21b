package contracts

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlGroups       = `SELECT type, form, n, published FROM contract_counts`
	sqlPrivateCount = `SELECT sum(n) FROM contract_counts WHERE contract = ? AND author = ? AND form = 2`
)

// groups counts what the reader sees of a part.
func (p threadPart) groups(ctx context.Context, c *engine.Conn) (out []store.ThreadGroup, err error) {
	text, args := p.sql(sqlGroups, "")
	err = c.Query(ctx, text, args, func(v engine.Row) error {
		out = addGroup(out, store.ThreadGroup{Author: p.author, Type: v.Text(0), Form: store.EntryForm(v.Int(1)), Count: int(v.Int(2)), Published: int(v.Int(3))})
		return nil
	})
	return out, err
}

// addGroup adds to the group with the same form and type. There are few.
func addGroup(groups []store.ThreadGroup, g store.ThreadGroup) []store.ThreadGroup {
	for i := range groups {
		if have := &groups[i]; have.Form == g.Form && have.Type == g.Type {
			have.Count += g.Count
			have.Published += g.Published
			return groups
		}
	}
	return append(groups, g)
}

// total is how many entries the reader sees.
func (t thread) total(ctx context.Context, c *engine.Conn) (n int, err error) {
	for _, p := range t.parts() {
		groups, err := p.groups(ctx, c)
		if err != nil {
			return 0, err
		}
		for _, g := range groups {
			n += g.Count
		}
	}
	return n, nil
}

// ThreadGroups counts the entries of a thread by part, form and type.
func (s *Store) ThreadGroups(ctx context.Context, t store.Thread) (out []store.ThreadGroup, err error) {
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		for _, p := range thread(t).parts() {
			groups, err := p.groups(ctx, c)
			if err != nil {
				return err
			}
			var first, last int64
			for _, g := range groups {
				if g.Count == 0 {
					continue
				}
				if last == 0 {
					if first, last, err = p.ends(c); err != nil {
						return err
					}
				}
				g.First, g.Last = first, last
				out = append(out, g)
			}
		}
		return nil
	})
	return out, err
}

// ends are the times of the first and the last entry of a part that the reader
// sees.
func (p threadPart) ends(c *engine.Conn) (first, last int64, err error) {
	text, args := p.sql(sqlEntryTimes, "")
	if first, err = c.Number(text+" ORDER BY created_at LIMIT 1", args...); err != nil {
		return 0, 0, err
	}
	last, err = c.Number(text+" ORDER BY created_at DESC LIMIT 1", args...)
	return first, last, err
}
