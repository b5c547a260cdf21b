package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"engramd/migrations"
)

// migrate brings the database to the newest version that this program knows, in
// one transaction per migration, so that a crash leaves a whole database of
// some version; an empty one in one for all, which spares its start a dozen syncs
// of the disk. Meanwhile SQLite may put what it sorts, and what undoes a
// statement, into temporary files (PrepareDir says where): in memory that would
// grow with the database.
func migrate(ctx context.Context, c *Conn, path string, log *slog.Logger) error {
	missing, err := pending(c, path)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := c.Script("PRAGMA temp_store=FILE"); err != nil {
		return err
	}
	together := 1
	if missing[0].Version == 1 {
		together = len(missing)
	}
	for group := range slices.Chunk(missing, together) {
		if err := ctx.Err(); err != nil {
			return err
		}
		// A start that takes long must be seen to work, and at what.
		log.Info("database is being migrated", "from", group[0].Version-1, "to", group[len(group)-1].Version)
		if err := c.Transaction(func() error { return applyMigrations(c, group) }); err != nil {
			return err
		}
		for _, m := range group {
			log.Info("database migrated", "version", m.Version)
		}
	}
	return c.Script("PRAGMA temp_store=MEMORY")
}

// pending lists the migrations that the database lacks. It fails for a database
// of somebody else and for one that is newer than this program.
func pending(c *Conn, path string) ([]migrations.Migration, error) {
	all, err := migrations.All()
	if err != nil {
		return nil, err
	}
	version, err := c.Number("PRAGMA user_version")
	if err != nil {
		return nil, fmt.Errorf("read database version: %w", err)
	}
	if err := checkApplication(c, path, version); err != nil {
		return nil, err
	}
	if version > int64(len(all)) {
		return nil, fmt.Errorf("%w: %s has version %d, this program knows up to %d: use the engramd that wrote it or a newer one",
			ErrNewer, path, version, len(all))
	}
	return all[version:], nil
}

// checkApplication refuses a database of some other program: one with an
// application id that is not ours, or with tables but no version of ours.
func checkApplication(c *Conn, path string, version int64) error {
	id, err := c.Number("PRAGMA application_id")
	if err != nil {
		return fmt.Errorf("read application id: %w", err)
	}
	if id == migrations.ApplicationID {
		return nil
	}
	tables, err := c.Number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if id != 0 || version != 0 || tables != 0 {
		return fmt.Errorf("%w: %s", ErrForeign, path)
	}
	return nil
}

func applyMigrations(c *Conn, group []migrations.Migration) error {
	for _, m := range group {
		for _, step := range m.Steps() {
			run := c.Script
			if step.Ranged {
				run = c.inRanges
			}
			if err := run(step.SQL); err != nil {
				return fmt.Errorf("migration %s: %w", m.Name, err)
			}
		}
		if err := c.Script(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", migrations.ApplicationID, m.Version)); err != nil {
			return fmt.Errorf("migration %s: %w", m.Name, err)
		}
	}
	return nil
}

// inRanges runs a statement for each range of rows. Ranges without a row are
// left out, for numbers may lie far apart.
func (c *Conn) inRanges(statement string) error {
	next, err := c.One(migrations.FirstRange)
	for err == nil && next[0] != nil {
		from, ok := next[0].(int64)
		if !ok {
			return fmt.Errorf("a range begins with %v", next[0])
		}
		to := from + migrations.RangeRows - 1
		if _, err := c.Exec(statement, from, to); err != nil {
			return err
		}
		next, err = c.One(migrations.RangeAfter, to)
	}
	return err
}

// Transaction runs fn between BEGIN IMMEDIATE and COMMIT, or rolls back when it
// fails.
func (c *Conn) Transaction(fn func() error) error {
	if _, err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		_, err = c.Exec("COMMIT")
	}
	if err != nil {
		c.rollback()
	}
	return err
}

// rollback ends a transaction whatever state an error left it in; SQLite may
// have ended it already.
func (c *Conn) rollback() {
	if !c.db.AutoCommit() {
		_, _ = c.Exec("ROLLBACK")
	}
}
