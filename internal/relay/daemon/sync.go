package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/management"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/replica"
)

// syncCommand is `engramd sync URL`: one pass of what [[replica]] does.
type syncCommand struct {
	*Main
	cfg  *config.Config
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

// ParseFlags reads the command line and the configuration.
func (c *syncCommand) ParseFlags(args []string) error {
	o := newOptions("sync")
	o.fs.StringVar(&c.spec.Key, "key-file", "", "`file` with the secret key that asks there")
	o.fs.StringVar(&c.spec.Filter, "filter", "", "a NIP-01 filter as `JSON`, if not everything")
	o.fs.BoolVar(&c.json, "json", false, "the result as one JSON object")
	operands, err := o.parse(args, 1)
	if err != nil {
		return err
	}
	if len(operands) == 0 {
		return usage(errors.New("from which relay? Give its URL"))
	}
	c.spec.URL = operands[0]
	r, err := config.CheckReplica(config.Replica(c.spec))
	if err != nil {
		return usage(err)
	}
	if c.spec = replica.Spec(r); c.spec.Key != "" {
		if c.spec.Key, err = filepath.Abs(c.spec.Key); err != nil {
			return err
		}
	}
	if _, err := sourceFilter(c.spec.Filter); err != nil {
		return usage(fmt.Errorf("--filter: %w", err))
	}
	c.cfg, err = o.load(c.Env)
	return err
}

// orderSync is the order of this command to a running daemon.
const orderSync = "sync"

// syncArgs are those of orderSync: the place of a key, and never a key.
type syncArgs struct {
	URL     string `json:"url"`
	KeyFile string `json:"key_file,omitempty"`
	Filter  string `json:"filter,omitempty"`
}

// syncOrders let commands fetch what another relay has.
func (c *process) syncOrders() []control.Order {
	return []control.Order{control.NewTellingOrder(orderSync, func(ctx context.Context, args syncArgs, tell func(any)) (any, error) {
		if !c.up.Load() {
			return nil, errStarting
		}
		with := c.following()
		with.metrics = nil // which count by the place in the configuration
		return syncOnce(ctx, with, replica.Spec{URL: args.URL, Key: args.KeyFile, Filter: args.Filter}, func(s replica.Status) { tell(s) })
	})}
}

// syncOnce makes one pass, and tells meanwhile how far it is. A failure is told in
// the result, beside what came before it.
func syncOnce(ctx context.Context, with following, s replica.Spec, tell func(replica.Status)) (replica.Status, error) {
	f, err := with.follower(0, s)
	if err != nil {
		return replica.Status{}, err
	}
	stop := telling(f, tell)
	got, err := f.Once(ctx)
	stop()
	if err != nil && ctx.Err() == nil {
		got.State, got.Why = replica.Failed, replica.Reason(err)
		return got, nil
	}
	return got, err
}

// Run makes the pass, through the daemon that holds the folder or here.
func (c *syncCommand) Run(ctx context.Context) error {
	private()
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
	err := orderAndHear(ctx, c.cfg, orderSync, syncArgs{c.spec.URL, c.spec.Key, c.spec.Filter}, &got, hear, func(s *database) (err error) {
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
func (c *syncCommand) here(ctx context.Context, s *database, p *progress) (got replica.Status, err error) {
	names, err := namesOf(c.cfg)
	if err != nil {
		return got, usage(err)
	}
	table, err := newTable(c.cfg)
	if err != nil {
		return got, err
	}
	with := following{store: s, table: func() *gate.Table { return table }, log: slog.New(slog.DiscardHandler)}
	lists, err := management.New(ctx, management.Options{Store: s, Log: with.log})
	if err != nil {
		return got, err
	}
	err = lists.Configure(adminConfig(c.cfg), func(r management.Rules) (func(), error) {
		p, err := copyPolicy(names, policyOptions(c.cfg, names, nil), r)
		if err != nil {
			return nil, err
		}
		return func() { with.judge = asAuthor(p.RejectEvent) }, nil
	})
	if err != nil {
		return got, err
	}
	return syncOnce(ctx, with, c.spec, p.show)
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

// Close has nothing to give back.
func (c *syncCommand) Close() error { return nil }
