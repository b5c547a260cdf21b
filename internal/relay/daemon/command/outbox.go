package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
)

// outboxCommand is `engramd outbox ls|drop`.
type outboxCommand struct {
	base
	relay string
	json  bool
}

const outboxUsage = `
It has these commands:
  ls [--json]
        how many contract events wait for this relay and for each of contracts.publish_to, and since when; also without the
        word ls. The number is the label "relay" of the metrics
  drop --relay URL
        give up what waits for a further relay now, through the running relay if there is one. This relay keeps the events
`

func (c *outboxCommand) pick(args []string) ([]string, error) {
	return c.oneOf(args, "ls", "ls", "drop")
}

func (c *outboxCommand) flags(fs *flag.FlagSet) int {
	if c.verb == "drop" {
		fs.StringVar(&c.relay, "relay", "", "the relay's `URL`, as ls shows it")
	} else {
		fs.BoolVar(&c.json, "json", false, "one JSON object per relay")
	}
	return 0
}

func (c *outboxCommand) check() error {
	if c.verb == "drop" && c.relay == "" {
		return errors.New("for which relay? Give --relay URL; engramd outbox ls shows them")
	}
	return nil
}

func (c *outboxCommand) Run(ctx context.Context) error {
	wiring.Private()
	if c.verb == "drop" {
		return c.drop(ctx)
	}
	return c.list(ctx)
}

// waitingFor is what waits for one relay.
type waitingFor struct {
	Number  int    `json:"number"` // 0 is this relay; -1 is one that is in contracts.publish_to no more
	Relay   string `json:"relay"`  // "this relay", or a URL
	Waiting int64  `json:"waiting"`
	Oldest  string `json:"oldest,omitempty"` // when it was given, RFC 3339
}

// list prints what waits, beside a daemon or without one.
func (c *outboxCommand) list(ctx context.Context) (err error) {
	s, err := openBeside(ctx, c.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	all := []waitingFor{{Relay: "this relay"}}
	for i, url := range c.cfg.Contracts.PublishTo {
		all = append(all, waitingFor{Number: i + 1, Relay: url})
	}
	err = s.OutboxLag(ctx, func(target string, waiting, oldest int64) {
		i := 0
		if target != store.OutboxLocal {
			if i = slices.IndexFunc(all, func(w waitingFor) bool { return w.Relay == target }); i < 0 {
				i, all = len(all), append(all, waitingFor{Number: -1, Relay: target})
			}
		}
		all[i].Waiting, all[i].Oldest = waiting, time.Unix(oldest, 0).UTC().Format(time.RFC3339)
	})
	if err != nil {
		return err
	}
	if c.json {
		e := json.NewEncoder(c.Stdout)
		for _, w := range all {
			err = errors.Join(err, e.Encode(w))
		}
		return err
	}
	out := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, w := range all {
		number := fmt.Sprint(w.Number)
		if w.Number < 0 {
			number = "-" // it is forgotten at the next start
		}
		fmt.Fprintf(out, "%s\t%s\t%d waiting\toldest %s\n", number, w.Relay, w.Waiting, cmp.Or(w.Oldest, "-"))
	}
	return out.Flush()
}

func (c *outboxCommand) drop(ctx context.Context) error {
	var done orders.Dropped
	err := order(ctx, c.cfg, orders.OutboxDrop, orders.DropArgs{Relay: c.relay}, &done, nil, func(s *sqlite.Store) (err error) {
		done.Events, err = s.OutboxForget(ctx, c.relay)
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%s  %d dropped\n", c.relay, done.Events)
	return err
}
