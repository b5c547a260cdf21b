package query

import (
	"context"

	"engramd/internal/relay/store/sqlite/engine"
)

// ContractStatements are the statements that read events of contract memory.
func ContractStatements() map[string][]engine.Value {
	k := make([]byte, 32)
	return map[string][]engine.Value{sqlConcerned: {k, "c"}, sqlStateHead: {k, "c"}, sqlStatePast: {k, "c", int64(9)}}
}

// PlanOf is how SQLite answers a statement.
func PlanOf(ctx context.Context, o asker, text string, args ...engine.Value) (lines []string, err error) {
	q := o.asked()
	err = q.DB.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, "EXPLAIN QUERY PLAN "+text, args, func(v engine.Row) error {
			line, _ := v[3].(string)
			lines = append(lines, line)
			return nil
		})
	})
	return lines, err
}
