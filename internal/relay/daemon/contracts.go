package daemon

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/api"
	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/contracts/outbox"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store/sqlite"
	"engramd/nips/niptemp"
)

// contractMemory is the contracts' service with the outbox that delivers what it
// writes, and its HTTP API.
type contractMemory struct {
	common
	store   *sqlite.Store
	relay   *relay.Relay
	keys    *ownKeys
	outbox  *outbox.Outbox
	service *contracts.Service
	used    *httpauth.Journal // calls of the API that change something
	api     *api.API
	end     []func() // end what runs beside, the last first
}

// lagTimeout bounds what a scrape of the metrics waits for the outbox's
// figures.
const lagTimeout = time.Second

// open puts the contract memory API together, over the relay, the vault and the
// outbox. Its answers go out when the port is served.
func (c *contractMemory) open(ctx context.Context, cfg *config.Config, r *rules, guesses *fairness.Guesses, url string) (err error) {
	c.openOutbox(cfg)
	c.service, err = contracts.New(contracts.Options{
		Store: c.store, Relay: c.relay, Table: c.relay.Table, Signer: c.keys.agents, Sealer: identity.Sealer{Vault: c.keys.vault},
		Identities: c.keys.agents, RelayKeys: c.keys.ring, Writers: &r.policy, Outbox: c.outbox, Guesses: guesses, Clock: c.member.now, Confirmed: c.clock.Confirmed, Log: c.log, Limits: contracts.Limits{Event: cfg.Limits.MessageBytes},
	})
	if err != nil {
		return err
	}
	if c.used, err = api.OpenUsed(ctx, calls{c.store, c.clock.Confirmed}, config.HTTPWindow, c.member.now); err != nil {
		return err
	}
	c.api = api.New(api.Options{
		Service: c.service, Identities: c.keys.agents, Used: c.used, Operator: r.admin.Manages, Decided: c.metrics.Relay.GateDecision,
		Private: func() bool { return c.relay.Table().AuthRequired() },
		Version: c.version, URL: strings.TrimSuffix("http"+strings.TrimPrefix(url, "ws"), "/"),
	})
	return nil
}

// openOutbox makes the outbox. It delivers nothing before its Start.
func (c *contractMemory) openOutbox(cfg *config.Config) {
	to := cfg.Contracts.PublishTo
	c.outbox = outbox.New(outbox.Options{
		Store: c.store, Relay: c.relay, Targets: to, Identity: identityOf(c.keys.ring.Key()), Log: c.log, Observe: c.metrics.Outbox.OutboxTried,
	})
	c.metrics.WatchOutbox(len(to), func() (lag []metrics.OutboxLag) {
		ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
		defer cancel()
		all, err := c.outbox.Lag(ctx)
		if err != nil {
			c.log.Debug("the outbox cannot be asked", "err", err)
			return nil
		}
		for _, l := range all {
			lag = append(lag, metrics.OutboxLag{Waiting: float64(l.Waiting), Oldest: l.Oldest.Seconds()})
		}
		return lag
	})
	if len(to) > 0 {
		c.log.Info("contract events are published to further relays too; the relay's own key answers their AUTH", "relays", len(to))
	}
}

// start looks after deadlines while this node leads, and begins to deliver. Of several nodes the one that leads delivers
// what any of them queued.
func (c *contractMemory) start(ctx context.Context) error {
	if c.lead.alone() {
		if err := c.outbox.Start(ctx, c.delivered); err != nil {
			return err
		}
		if err := c.service.Resume(ctx); err != nil {
			return err
		}
	} else {
		c.end = append(c.end, begin(context.Background(), func(ctx context.Context) { c.lead.while(ctx, c.deliver) }))
	}
	c.end = append(c.end, begin(context.Background(), func(ctx context.Context) {
		c.lead.while(ctx, func(ctx context.Context) {
			defer c.lead.rousing(ctx, c.service.Rouse)()
			c.service.Run(ctx, time.After)
		})
	}))
	return nil
}

// deliver delivers until ctx ends. What cannot be tidied up before is found at
// the next time that this node leads.
func (c *contractMemory) deliver(ctx context.Context) {
	if err := c.outbox.Keep(ctx); err != nil && ctx.Err() == nil {
		c.log.Error("what waits for relays that are no longer targets is not forgotten", "err", err)
	}
	if err := c.service.Resume(ctx); err != nil && ctx.Err() == nil {
		c.log.Error("entries that wait for the relay could not be looked for", "err", err)
	}
	defer c.lead.rousing(ctx, c.outbox.Rouse)()
	c.outbox.Run(ctx, c.delivered)
}

// delivered notes in its thread that the relay has an entry now. The service
// hands it to the relay once more, which knows it.
func (c *contractMemory) delivered(ctx context.Context, ev *nostr.Event) error {
	if ev.Kind != niptemp.KindEntry {
		return nil
	}
	_, err := c.service.Deliver(ctx, ev)
	return err
}

// usedElsewhere notes the signature of a management call in the database, where
// a call at another node finds it; nil where there are no others.
func (c *contractMemory) usedElsewhere() func(ctx context.Context, id, key string) error {
	if c.lead.alone() {
		return nil
	}
	return c.used.Use
}

// close looks after deadlines no more, and stops the outbox.
func (c *contractMemory) close() {
	for _, end := range slices.Backward(c.end) {
		end()
	}
	c.outbox.Close()
}

// orders let commands change what waits.
func (c *contractMemory) orders() []control.Order {
	return []control.Order{control.NewOrder(orders.OutboxDrop, func(ctx context.Context, args orders.DropArgs) (any, error) {
		n, err := c.outbox.Drop(ctx, args.Relay)
		c.log.Info("what waited for a further relay was given up by command", "relay", args.Relay, "events", n)
		return orders.Dropped{Events: n}, err
	})}
}
