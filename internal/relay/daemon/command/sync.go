package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/management"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/replica"
	"engramd/internal/relay/store/sqlite"
)

// syncCommand is `engramd sync URL`: one pass of what [[replica]] does.
type syncCommand struct {
	base
	spec replica.Spec
	json bool
}

const syncUsage = `
  --key-file FILE  the secret key that asks there (nsec or 64 hex digits; not readable by others); without it, what
                   everybody may see comes
  --filter JSON    a NIP-01 filter, if not everything
  --json           the result as one JSON object
It exits with 1 if something was refused here, other than requests to vanish that name another relay, or if not all
that the relay shows came.
`

func (c *syncCommand) flags(fs *flag.FlagSet) int {
	fs.StringVar(&c.spec.Key, "key-file", "", "`file` with the secret key that asks there")
	fs.StringVar(&c.spec.Filter, "filter", "", "a NIP-01 filter as `JSON`, if not everything")
	fs.BoolVar(&c.json, "json", false, "the result as one JSON object")
	return 1
}

func (c *syncCommand) check() error {
	if len(c.operands) == 0 {
		return errors.New("from which relay? Give its URL")
	}
	c.spec.URL = c.operands[0]
	r, err := config.CheckReplica(config.Replica(c.spec))
	if err != nil {
		return err
	}
	if c.spec = replica.Spec(r); c.spec.Key != "" {
		if c.spec.Key, err = filepath.Abs(c.spec.Key); err != nil {
			return err
		}
	}
	if _, err := wiring.SourceFilter(c.spec.Filter); err != nil {
		return fmt.Errorf("--filter: %w", err)
	}
	return nil
}

// Run makes the pass, through the daemon that holds the folder or here.
func (c *syncCommand) Run(ctx context.Context) error {
	wiring.Private()
	var got replica.Status
	p := c.newProgress()
	var hear func(json.RawMessage)
	if p.w != nil {
		hear = func(told json.RawMessage) {
			var s replica.Status
			if json.Unmarshal(told, &s) == nil {
				p.show(s)
			}
		}
	}
	err := order(ctx, c.cfg, orders.Sync, orders.SyncArgs{URL: c.spec.URL, KeyFile: c.spec.Key, Filter: c.spec.Filter}, &got, hear, func(s *sqlite.Store) (err error) {
		got, err = c.here(ctx, s, p)
		return err
	})
	p.end()
	if err != nil {
		return err
	}
	if err := c.print(got); err != nil {
		return err
	}
	return missed(got)
}

// missed is what of a pass makes the command fail.
func missed(got replica.Status) error {
	n := got.RefusedEvents() - got.Reasons[policy.NotAddressed]
	switch {
	case got.State == replica.Failed:
		return errors.New(got.Why)
	case n > 0:
		return fmt.Errorf("%d events were refused", n)
	case got.Incomplete:
		return errors.New(got.Why)
	}
	return nil
}

// here makes the pass where nobody else has the database open.
func (c *syncCommand) here(ctx context.Context, s *sqlite.Store, p *progress) (got replica.Status, err error) {
	names, err := namesOf(c.cfg)
	if err != nil {
		return got, wiring.Usage(err)
	}
	table, err := wiring.Table(c.cfg)
	if err != nil {
		return got, err
	}
	with := wiring.Following{Store: s, Table: func() *gate.Table { return table }, Log: slog.New(slog.DiscardHandler), Observe: func(int, string, string) {}}
	lists, err := management.New(ctx, management.Options{Store: s, Log: with.Log})
	if err != nil {
		return got, err
	}
	err = lists.Configure(wiring.AdminConfig(c.cfg), func(r management.Rules) (func(), error) {
		p, err := wiring.CopyPolicy(names, wiring.PolicyOptions(c.cfg, names, nil), r)
		if err != nil {
			return nil, err
		}
		return func() { with.Judge = wiring.AsAuthor(p.RejectEvent) }, nil
	})
	if err != nil {
		return got, err
	}
	return wiring.SyncOnce(ctx, with, c.spec, p.show)
}

func (c *syncCommand) print(got replica.Status) error {
	if c.json {
		return json.NewEncoder(c.Stdout).Encode(got)
	}
	_, err := fmt.Fprintf(c.Stdout, "%s: %d taken, %d known, %d deleted here, %d refused\n", got.Relay, got.Taken, got.Known, got.Deleted, got.RefusedEvents())
	if err == nil && got.Why != "" && got.State != replica.Failed {
		_, err = fmt.Fprintln(c.Stdout, got.Why)
	}
	for _, why := range slices.Sorted(maps.Keys(got.Reasons)) {
		if err == nil {
			_, err = fmt.Fprintf(c.Stdout, "refused %d: %s\n", got.Reasons[why], why)
		}
	}
	return err
}

// progress shows on a terminal how far a pass is, in one line that changes. The
// zero progress shows nothing.
type progress struct {
	w     io.Writer // nil: nobody looks
	began time.Time
	shown bool
}

func (m *Main) newProgress() *progress {
	p := &progress{began: time.Now()}
	if m.Terminal {
		p.w = m.Stderr
	}
	return p
}

// show shows where a pass stands.
func (p *progress) show(s replica.Status) {
	if p.w != nil {
		p.shown = true
		fmt.Fprintf(p.w, "\r\x1b[K%s: %d taken, %d known, %d deleted here, %d refused, %.0f s", s.Relay, s.Taken, s.Known, s.Deleted, s.RefusedEvents(), time.Since(p.began).Seconds())
	}
}

// end takes the line away.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
