package store

import (
	"context"
	"database/sql/driver"
)

// ContractStatement is a statement of the contract memory and what its plan may have.
type ContractStatement struct {
	Text         string
	Args         []driver.Value
	Scans, Sorts bool
}

// ContractStatements are the statements that read contracts and threads.
func ContractStatements(t Thread) map[string]ContractStatement {
	k := make([]byte, 32)
	page, args := t.union(columnsEntry, "", 1)
	count, countArgs := t.union("count(*)", "", 1)
	next, nextArgs := t.union(columnsEntry, " AND (created_at, id) > (?, ?)", 1, int64(1), k)
	one, oneArgs := t.union(columnsEntry, " AND entry = ?", 1, "mem_0")
	groups, groupArgs := t.union("author, type, form, count(*), count(seq), min(created_at), max(created_at)", " GROUP BY type, form", 1)
	return map[string]ContractStatement{
		"page":             {Text: page + " ORDER BY created_at, id LIMIT ? OFFSET ?", Args: append(args, int64(50), int64(0))},
		"count":            {Text: count, Args: countArgs},
		"next":             {Text: next + " ORDER BY created_at, id LIMIT ?", Args: append(nextArgs, int64(50))},
		"entry":            {Text: one + " ORDER BY arrived_at LIMIT 1", Args: oneArgs, Sorts: true},
		"summary":          {Text: groups, Args: groupArgs, Sorts: true}, // of at most 15 groups
		"data":             {Text: sqlEntryData, Args: []driver.Value{"c", k, k, int64(1), k}},
		"newest":           {Text: sqlNewestEntry, Args: []driver.Value{"c", k, k}},
		"taken":            {Text: sqlEntryTaken, Args: []driver.Value{"c", "mem_0", k, k, k}},
		"of a party":       {Text: sqlPairOfA, Args: []driver.Value{"c", k}},
		"of the other":     {Text: sqlPairOfB, Args: []driver.Value{"c", k}},
		"of everybody":     {Text: sqlPairFirst, Args: []driver.Value{"c"}},
		"pair":             {Text: sqlPairExact, Args: []driver.Value{"c", k, k}},
		"contracts":        {Text: sqlContracts, Args: []driver.Value{k, "", int64(50), int64(0)}},
		"contracts, count": {Text: sqlContractsCount, Args: []driver.Value{k, ""}},
		"due":              {Text: sqlDue, Args: []driver.Value{int64(1), int64(9)}},
		"next due":         {Text: sqlFirstDue},
		"decision":         {Text: sqlDecided, Args: []driver.Value{"c", k, k}},
		"private, count":   {Text: sqlPrivateCount, Args: []driver.Value{"c", k}},
		"unindex":          {Text: sqlUnindexEntry, Args: []driver.Value{int64(1)}},
		"vanish":           {Text: sqlVanishPrivate, Args: []driver.Value{k, int64(1)}},
		"waiting":          {Text: sqlWaiting, Scans: true}, // the whole of a partial index, once, at start
		"state heads":      {Text: sqlStateHead, Args: []driver.Value{k, "c"}},
		"state history":    {Text: sqlStatePast, Args: []driver.Value{k, "c", int64(9)}},
	}
}

// PlanOf is how SQLite answers a statement.
func PlanOf(ctx context.Context, s *Store, text string, args ...driver.Value) (lines []string, err error) {
	err = s.read(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, "EXPLAIN QUERY PLAN "+text, args, func(v []driver.Value) error {
			line, _ := v[3].(string)
			lines = append(lines, line)
			return nil
		})
	})
	return lines, err
}
