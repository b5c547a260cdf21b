package nodes

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver

	"engramd/internal/relay/cluster"
)

// local is what is a node's own: tables, and rows of the table meta.
var local = []string{"search", "sqlite_stat", "meta|ready.", "meta|search", "meta|cluster.", "meta|gate", "meta|last_", "meta|mark."}

func isLocal(row string) bool {
	return slices.ContainsFunc(local, func(own string) bool { return strings.HasPrefix(row, own) })
}

// view is a database as one transaction sees it.
type view struct {
	db    *sql.DB
	tx    *sql.Tx
	state []byte // meta cluster.state
	place cluster.Place
}

func (v *view) close() {
	if v.tx != nil {
		_ = v.tx.Rollback() // it has written nothing
	}
	_ = v.db.Close()
}

// look opens a view. The process may run.
func look(ctx context.Context, data string) (v *view, err error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(data, "engramd.db")+"?mode=ro&_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	v = &view{db: db}
	if v.tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err == nil {
		err = v.tx.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'cluster.state'`).Scan(&v.state)
	}
	if err == nil {
		v.place, err = cluster.Inspect(v.state)
	}
	if err != nil {
		v.close()
		return nil, fmt.Errorf("%s: %w", data, err)
	}
	return v, nil
}

// rows are those of all tables that nodes have in common.
func (v *view) rows(ctx context.Context) (all []string, err error) {
	tables, err := v.query(ctx, "", `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	for _, name := range tables {
		if name = name[1:]; isLocal(name) {
			continue
		}
		rows, err := v.query(ctx, name, "SELECT * FROM "+name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, slices.DeleteFunc(rows, isLocal)...)
	}
	slices.Sort(all)
	return all, nil
}

func (v *view) query(ctx context.Context, head, text string) (out []string, err error) {
	rows, err := v.tx.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values, to := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		row := head
		for _, x := range values {
			if b, ok := x.([]byte); ok {
				x = "x'" + hex.EncodeToString(b) + "'"
			}
			row += fmt.Sprintf("|%v", x)
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// Same compares the databases of nodes, row by row, with the state of the
// cluster, at one and the same message. It is "" if they are equal; an error says
// that they never stood at one message while it looked.
func (c *Cluster) Same(ctx context.Context, which ...int) (difference string, err error) {
	if len(which) == 0 {
		for i := range c.nodes {
			which = append(which, i)
		}
	}
	for deadline := time.Now().Add(ReadyLimit); time.Now().Before(deadline); <-time.After(poll) {
		difference, err = c.same(ctx, which)
		if !errors.Is(err, errApart) {
			return difference, err
		}
	}
	return "", err
}

var errApart = errors.New("the nodes are not at one message")

func (c *Cluster) same(ctx context.Context, which []int) (difference string, err error) {
	var views []*view
	defer func() {
		for _, v := range views {
			v.close()
		}
	}()
	for _, i := range which {
		v, err := look(ctx, c.nodes[i].Data)
		if err != nil {
			return "", err
		}
		views = append(views, v)
	}
	first := views[0]
	for _, v := range views[1:] {
		if v.place.At != first.place.At || !v.place.Whole {
			return "", fmt.Errorf("%w: %v and %v", errApart, first.place.At, v.place.At)
		}
	}
	want, err := first.rows(ctx)
	if err != nil {
		return "", err
	}
	for n, v := range views[1:] {
		got, err := v.rows(ctx)
		if err != nil {
			return "", err
		}
		if d := differ(want, got); d != "" {
			return fmt.Sprintf("nodes %d and %d differ at message %d: %s", which[0], which[n+1], first.place.At.Number, d), nil
		}
		if !bytes.Equal(first.state, v.state) {
			return fmt.Sprintf("nodes %d and %d have different states of the cluster at message %d: %d commands, hash %.8x; %d commands, hash %.8x", which[0], which[n+1],
				first.place.At.Number, first.place.Count, first.place.Hash, v.place.Count, v.place.Hash), nil
		}
	}
	return "", nil
}

// differ names the first row of two sorted lists that only one has.
func differ(a, b []string) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i == len(b) || i < len(a) && a[i] < b[i]:
			return fmt.Sprintf("%d and %d rows; only the first has %.300s", len(a), len(b), a[i])
		case i == len(a) || a[i] > b[i]:
			return fmt.Sprintf("%d and %d rows; only the second has %.300s", len(a), len(b), b[i])
		}
	}
	return ""
}
