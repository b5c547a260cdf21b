package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// restoreCommand is `engramd restore FILE`.
type restoreCommand struct {
	base
	file string
}

func (c *restoreCommand) flags(*flag.FlagSet) int { return 1 }

func (c *restoreCommand) check() error {
	if len(c.operands) == 0 {
		return errors.New("name the FILE of the backup")
	}
	c.file = c.operands[0]
	return nil
}

// Run copies the backup into the data folder, checks the copy, and puts it in the
// place of the database, which is kept.
func (c *restoreCommand) Run(ctx context.Context) (err error) {
	wiring.Private()
	dir := c.cfg.Data
	if err := engine.PrepareDir(dir); err != nil {
		return err
	}
	lock, err := engine.Lock(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := journal.Finish(dir, "engramd restore"); err != nil && !errors.Is(err, journal.ErrBegun) {
		return err
	}
	o := wiring.Database(dir)
	temp := o.Path + ".restoring"
	defer func() {
		if j, e := journal.Read(dir); j != nil || e != nil { // it is to be finished yet
			err = errors.Join(err, e)
			return
		}
		for _, end := range []string{"", "-wal", "-shm", "-journal", ".mark"} {
			if e := os.Remove(temp + end); e != nil && !errors.Is(e, os.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}()
	if err := engine.CopyBackup(c.file, temp); err != nil {
		return err
	}
	report, err := c.look(ctx, temp)
	if err != nil {
		return fmt.Errorf("%s: %w", c.file, err)
	}
	aside := "replaced-" + time.Now().UTC().Format("20060102T150405.000Z")
	kept, err := engine.Place(o, temp, aside, "engramd restore")
	if kept {
		fmt.Fprintf(c.Stdout, "what was here is kept in %s: remove it when nothing of it is missed\n", filepath.Join(dir, aside))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "restored: %s, %d events and %d superseded versions, checked; engramd check says whether its keys are here\n", c.file, report.Events, report.History)
	return nil
}

// look checks a database as `engramd check` does. Events in another class than
// the rules say are no damage: the next start classes them anew.
func (c *restoreCommand) look(ctx context.Context, path string) (report store.Report, err error) {
	table, err := wiring.Table(c.cfg)
	if err != nil {
		return report, err
	}
	scratch, err := engine.TempDir(c.cfg.Data)
	if err != nil {
		return report, err
	}
	live := wiring.StoreLive(c.cfg)
	live.QueryTimeout = -1
	s, err := sqlite.Open(ctx, sqlite.Options{Options: engine.Options{Path: path, ReadOnly: true, Scratch: scratch}, Table: table, Live: live})
	if err != nil {
		return report, err
	}
	var rotten []store.Damaged
	if report, err = s.Check(ctx); err == nil {
		_, rotten, err = s.Verify(ctx)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return report, err
	}
	damaged := damagedEvents(c.Stdout, rotten) != nil
	for _, p := range report.Problems {
		fmt.Fprintf(c.Stdout, "%s: %s\n", p.Check, p.Detail)
		damaged = damaged || p.Check != "class" || p.Advice == store.AdviceRebuild
	}
	if damaged {
		return report, errors.New("the backup is not as it should be, and nothing was changed: restore another one, or export what can be read of this one")
	}
	return report, nil
}
