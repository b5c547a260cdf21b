package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
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
	fmt.Fprintf(c.Stdout, "backup: %s, %d bytes, opened again and verified\n", c.file, info.Size())
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
