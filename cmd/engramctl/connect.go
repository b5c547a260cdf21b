package main

import (
	"context"
	"strings"

	"engramd/internal/client"
)

// connect makes a client of the key and the relays that are configured. It asks
// for the password of an encrypted key, and connects to nothing yet. Close the
// client at the end.
func (e *Env) connect(ctx context.Context) (*client.Client, settings, error) {
	s, err := e.settings()
	if err != nil {
		return nil, s, err
	}
	if len(s.relays) == 0 {
		return nil, s, usagef("no relay is configured: give --relay, set ENGRAM_RELAYS, or name relays in a profile")
	}
	id, err := e.identity(ctx, s)
	if err != nil {
		return nil, s, err
	}
	ignore, err := ignoredRelays(e)
	if err != nil {
		return nil, s, err
	}
	e.noDiscovery = e.flags.noDiscovery || s.named || s.discovery == "off"
	e.discoveryChosen = s.discovery != ""
	o := client.Options{Relays: s.relays, Patient: e.flags.strict || e.patient, Timeout: e.flags.timeout, Grace: e.Slack, Trace: e.trace(),
		Limits: e.limits, Ignore: ignore, WriteListed: s.discovery == "write", Decider: s.decider, Owner: s.own.owner, Agent: s.own.agent}
	if e.options != nil {
		e.options(&o)
	}
	return client.New(id, o), s, nil
}

// discover makes the client ask the agent's own relays (NIP-65) too, if it has
// a list, unless the command line names the relays or says not to look.
func (e *Env) discover(ctx context.Context, c *client.Client, agent string) error {
	if e.noDiscovery {
		return nil
	}
	if err := c.Discover(ctx, agent); err != nil {
		return err
	}
	if left := c.LeftOut(); len(left) > 0 && !e.discoveryChosen {
		e.note("the agent's own list of relays (NIP-65) does not name %s: clients that go by the list find nothing that is only there (discovery in a profile says that this is meant; engramctl relays set writes the list)",
			strings.Join(left, " and "))
	}
	return nil
}
