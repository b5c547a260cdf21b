package daemon

import (
	"context"
	"strings"
	"time"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/api"
	"engramd/internal/relay/contracts/identity"
)

// openContracts puts the contract memory API together, over the relay, the
// vault and the outbox. Its answers go out when the port is served.
func (c *process) openContracts(ctx context.Context) (err error) {
	c.contracts, err = contracts.New(contracts.Options{
		Store: c.store, Relay: c.relay, Table: c.relay.Table, Signer: c.agents, Sealer: identity.Sealer{Vault: c.vault},
		Identities: c.agents, RelayKeys: c.keys, Writers: &c.policy, Outbox: c.outbox, Guesses: c.guesses, Clock: c.now, Log: c.log, Limits: contracts.Limits{Event: c.cfg.Limits.MessageBytes},
	})
	if err != nil {
		return err
	}
	used, err := api.OpenUsed(ctx, c.store, c.cfg.Auth.HTTPWindow, c.now)
	if err != nil {
		return err
	}
	c.changed = used
	url := c.urls()[0]
	c.api = api.New(api.Options{
		Service: c.contracts, Identities: c.agents, Used: used, Operator: c.admin.Manages, Decided: c.metrics.Relay.GateDecision,
		Private: func() bool { return c.relay.Table().AuthRequired() },
		Version: c.Version, URL: strings.TrimSuffix("http"+strings.TrimPrefix(url, "ws"), "/"),
	})
	return nil
}

// runContracts looks after deadlines until stopContracts, while this node leads.
func (c *process) runContracts() {
	c.stopContracts = begin(context.Background(), func(ctx context.Context) {
		c.leading.while(ctx, func(ctx context.Context) {
			defer c.leading.rousing(ctx, c.contracts.Rouse)()
			c.contracts.Run(ctx, time.After)
		})
	})
}
