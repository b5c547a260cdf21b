package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// backupCommand is `engramd backup FILE`.
type backupCommand struct {
	base
	file string
}

func (c *backupCommand) flags(*flag.FlagSet) int { return 1 }

func (c *backupCommand) check() error {
	if len(c.operands) == 0 {
		return errors.New("name the FILE to write")
	}
	c.file = c.operands[0]
	return nil
}

// Run copies the database while others use it, verifies the copy, and says
// what else a restore needs.
func (c *backupCommand) Run(ctx context.Context) (err error) {
	wiring.Private()
	s, err := openReading(ctx, c.cfg, func(o *sqlite.Options) { o.AsIs = true })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Backup(ctx, c.file); err != nil {
		return err
	}
	info, err := os.Stat(c.file)
	if err != nil {
		return err
	}
	n, rotten, err := c.verify(ctx)
	if err != nil {
		return fmt.Errorf("the backup %s is written, and could not be verified: %w", c.file, err)
	}
	verdict := fmt.Sprintf("opened again, %d events and versions verified", n)
	if len(rotten) > 0 {
		verdict = fmt.Sprintf("NOT GOOD: %d of %d events and versions are damaged, as they are in the database", len(rotten), n)
	}
	fmt.Fprintf(c.Stdout, "backup: %s, %d bytes, %s\n", c.file, info.Size(), verdict)
	if version, older := s.Older(); older {
		fmt.Fprintf(c.Stdout, "it is of version %d, as the database is: the engramd that wrote it opens it, and this one brings it up to date when it serves it\n", version)
	}
	keep, err := c.belongings()
	if err != nil {
		return err
	}
	for _, path := range keep {
		fmt.Fprintf(c.Stdout, "keep with it: %s\n", path)
	}
	if len(keep) == 0 {
		fmt.Fprintln(c.Stdout, "nothing else belongs to it: there are no key files in the data folder and no configuration file is in use")
	}
	return damagedEvents(c.Stdout, rotten)
}

// verify reads every event of the copy.
func (c *backupCommand) verify(ctx context.Context) (n int64, rotten []store.Damaged, err error) {
	s, err := openReading(ctx, c.cfg, func(o *sqlite.Options) { o.AsIs, o.Path = true, c.file })
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Verify(ctx)
}

// errRotten makes a command exit with 1 after it named damaged events.
var errRotten = errors.New("events are damaged: keep an earlier backup, and bring the events from it or from whoever has them")

// damagedEvents names damaged events; without any there is no error.
func damagedEvents(out io.Writer, rotten []store.Damaged) error {
	for _, one := range rotten[:min(len(rotten), store.MostProblems)] {
		fmt.Fprintf(out, "damaged: %s\n", one)
	}
	if more := len(rotten) - store.MostProblems; more > 0 {
		fmt.Fprintf(out, "damaged: %d more\n", more)
	}
	if len(rotten) > 0 {
		return errRotten
	}
	return nil
}

// belongings returns the files that are not in the database and that a restore
// needs: the configuration, and what else lies in the data folder, which is
// keys.
func (c *backupCommand) belongings() ([]string, error) {
	entries, err := os.ReadDir(c.cfg.Data)
	if err != nil {
		return nil, err
	}
	var keep []string
	name := filepath.Base(engine.File(c.cfg.Data))
	for _, e := range entries {
		own := strings.HasPrefix(e.Name(), name) || strings.HasSuffix(e.Name(), ".lock") || e.Name() == control.Name || e.Name() == filepath.Base(engine.MarkFile(c.cfg.Data))
		path := filepath.Join(c.cfg.Data, e.Name())
		if e.Type().IsRegular() && !own && !sameFile(path, c.file) {
			keep = append(keep, path)
		}
	}
	if key := c.cfg.RelayKey; key != keys.Auto {
		keep = append(keep, "the relay key, "+key)
	}
	if key := c.cfg.Contracts.MasterKey; key != vault.Auto && key != vault.Never {
		keep = append(keep, "the master key, "+key)
	}
	if source := c.sources().Path(); source != "" {
		keep = append(keep, source)
	}
	return keep, nil
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
