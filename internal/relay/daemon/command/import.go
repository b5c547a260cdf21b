package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// importCommand is `engramd import [--replace] [FILE|-]`.
type importCommand struct {
	base
	replace bool
	in      io.Reader
}

func (c *importCommand) flags(fs *flag.FlagSet) int {
	fs.BoolVar(&c.replace, "replace", false, "")
	return 1
}

// Run imports through the daemon that holds the folder, or opens the database
// itself. The error tells that lines were skipped because they are wrong: what
// is there already, or was deleted by its author, is none.
func (c *importCommand) Run(ctx context.Context) error {
	wiring.Private()
	c.in = c.Stdin
	if len(c.operands) == 1 && c.operands[0] != "-" {
		f, err := os.Open(c.operands[0])
		if err != nil {
			return err
		}
		defer f.Close()
		c.in = f
	}
	p := &printer{out: c.Stderr, every: 2 * time.Second}
	t, err := c.importEvents(ctx, p)
	fmt.Fprintf(c.Stderr, "import: %v\n", t)
	if err != nil {
		return err
	}
	if t.Held > 0 {
		return fmt.Errorf("%d lines were skipped and %d held back, see above", t.Skipped, t.Held)
	}
	if t.Skipped > 0 {
		return fmt.Errorf("%d lines were skipped, see above", t.Skipped)
	}
	return nil
}

func (c *importCommand) importEvents(ctx context.Context, p ingest.Replacing) (ingest.Tally, error) {
	if err := engine.PrepareDir(c.cfg.Data); err != nil {
		return ingest.Tally{}, err
	}
	lock, err := engine.Lock(c.cfg.Data)
	if errors.Is(err, engine.ErrLocked) {
		t, sendErr := control.Import(ctx, c.cfg.Data, c.replace, c.in, p)
		if sendErr != nil {
			return t, fmt.Errorf("%w: %w", err, sendErr)
		}
		return t, nil
	}
	if err != nil {
		return ingest.Tally{}, err
	}
	t, err := c.importHere(ctx, p)
	return t, errors.Join(err, lock.Unlock())
}

// importBatch is how many events share a transaction where nobody waits for an
// answer: what is written once for each is then written less often.
const importBatch = 8192

// importHere opens the database, which nobody else has open.
func (c *importCommand) importHere(ctx context.Context, p ingest.Replacing) (t ingest.Tally, err error) {
	rules, err := rulesOf(c.cfg)
	if err != nil {
		return t, err
	}
	s, err := openAlone(ctx, c.cfg, "")
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	im := ingest.New(s, rules)
	if !c.replace {
		return im.Run(ctx, c.in, p)
	}
	service := &opener{base: c.base, store: s}
	snapshots, err := service.service(ctx, rules)
	if err != nil {
		return t, err
	}
	defer func() {
		service.store = nil // it is closed here, last
		err = errors.Join(err, service.close())
	}()
	return (&ingest.Replacer{Importer: im, Snapshots: snapshots, Dir: c.cfg.Data}).Run(ctx, c.in, p)
}

// openAlone opens the database for writing in place of a daemon, where it has lost
// what word stands for too. The caller has locked the folder.
func openAlone(ctx context.Context, cfg *config.Config, word string) (*sqlite.Store, error) {
	table, err := wiring.Table(cfg)
	if err != nil {
		return nil, err
	}
	o := sqlite.Options{Options: wiring.Database(cfg.Data), Table: table, Live: wiring.StoreLive(cfg)}
	o.MaxBatch, o.AcceptLoss = importBatch, word
	o.Confirmed = func() bool { return false } // what is old is the relay's to remove
	return sqlite.Open(ctx, o)
}

// rulesOf makes the rules of imports without a daemon.
func rulesOf(cfg *config.Config) (policy.Hook, error) {
	names, err := namesOf(cfg)
	if err != nil {
		return nil, wiring.Usage(err)
	}
	return ingest.NewRules(names, wiring.PolicyOptions(cfg, names, nil))
}

// namesOf are the relay's own names, as `serve` would have them with this
// configuration: a request to vanish must name one of them.
func namesOf(cfg *config.Config) (relay.Names, error) {
	var listen netip.AddrPort // stays empty where public_url says all
	if cfg.LoopbackOnly() {
		addr, err := net.ResolveTCPAddr("tcp", cfg.Listen)
		if err != nil {
			return nil, err
		}
		listen = addr.AddrPort()
	}
	return relay.NewNames(cfg.PublicURL, listen)
}

// printer shows the progress of an import to a person.
type printer struct {
	out   io.Writer
	every time.Duration
	last  time.Time
}

// Skip prints a line that is skipped.
func (p *printer) Skip(s ingest.Skipped) error {
	_, err := fmt.Fprintf(p.out, "line %d: skipped: %s\n", s.Line, s.Reason)
	return err
}

// Agent prints what became of an agent.
func (p *printer) Agent(a ingest.ReplacedAgent) error {
	if a.HeldBack != "" {
		_, err := fmt.Fprintf(p.out, "agent %s: held back, nothing was switched: %s\n", a.Agent, a.HeldBack)
		return err
	}
	fmt.Fprintf(p.out, "agent %s: replaced; the state before is in snapshot %s\n", a.Agent, a.PreSnapshot)
	if a.Quarantine != "" {
		fmt.Fprintf(p.out, "agent %s: %d to quarantine; to bring them back: engramd snapshot quarantine release %s\n", a.Agent, a.Quarantined, a.Quarantine)
		fmt.Fprintf(p.out, "agent %s: %s\n", a.Agent, whatMachinesSay)
	}
	return nil
}

// Tick prints how far it is.
func (p *printer) Tick(t ingest.Tally) error {
	if p.last.IsZero() {
		p.last = time.Now()
	}
	if time.Since(p.last) < p.every {
		return nil
	}
	p.last = time.Now()
	_, err := fmt.Fprintf(p.out, "%d lines, %d stored …\n", t.Lines, t.Stored+t.Replaced)
	return err
}
