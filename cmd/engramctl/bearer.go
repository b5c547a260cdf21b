package main

import (
	"context"
	"strings"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// bearerToken is a token with which an agent acts whose key a relay keeps, and
// that relay's URL; zero for none.
type bearerToken struct{ text, relay string }

// token is ENGRAM_TOKEN, for the relay that ENGRAM_TOKEN_RELAY names, and no
// other.
func (e *Env) token() (bearerToken, error) {
	t := bearerToken{text: strings.TrimSpace(e.env["ENGRAM_TOKEN"]), relay: e.env["ENGRAM_TOKEN_RELAY"]}
	if t.text == "" {
		return bearerToken{}, nil
	}
	lower := strings.ToLower(t.text)
	if _, _, err := parseSecret(t.text); err == nil || strings.HasPrefix(lower, "nsec1") || strings.HasPrefix(lower, "ncryptsec1") {
		return bearerToken{}, usagef("ENGRAM_TOKEN holds a secret key, which is never sent to a relay: it belongs into a key file")
	}
	if t.relay == "" {
		return bearerToken{}, usagef("ENGRAM_TOKEN is set, and ENGRAM_TOKEN_RELAY is not: a token is sent to the relay that made it alone")
	}
	if scheme, rest, found := strings.Cut(t.relay, "://"); found && strings.HasPrefix(strings.ToLower(scheme), "http") {
		t.relay = "ws" + strings.ToLower(scheme)[len("http"):] + "://" + rest
	}
	canonical, err := nipae.CanonicalRelayURL(t.relay)
	if err != nil {
		return bearerToken{}, usagef("ENGRAM_TOKEN_RELAY %q: %w", shownURL(t.relay), err)
	}
	for _, named := range e.flags.relays {
		if other, err := nipae.CanonicalRelayURL(named); err != nil || other != canonical {
			return bearerToken{}, usagef("--relay %s is not the relay of ENGRAM_TOKEN, %s: a token is sent to that one alone", shownURL(named), shownURL(t.relay))
		}
	}
	return t, nil
}

// act makes a client that acts on contracts: by the token, unless the command
// line names a key, or there is none. keyFirst is for what a key may do and a
// token may not: then the token counts where no key is configured.
func act(ctx context.Context, e *Env, keyFirst bool) (*client.Client, error) {
	s, err := e.settings()
	if err != nil {
		return nil, err
	}
	t := bearerToken{}
	if e.flags.keyFile == "" && !(keyFirst && s.key != (keySource{})) {
		if t, err = e.token(); err != nil {
			return nil, err
		}
	}
	if t == (bearerToken{}) {
		c, _, err := e.connect(ctx)
		return c, err
	}
	return bearing(e, t)
}

// bearing makes a client that acts by a token.
func bearing(e *Env, t bearerToken) (*client.Client, error) {
	c, err := client.NewBearer(t.text, t.relay, client.Options{Timeout: e.flags.timeout, Trace: e.trace()})
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// withContracts runs do in the name of the key or the token, at the configured
// relays: where a contract is kept is agreed with its other party, and no list
// of one's own says it.
func withContracts(ctx context.Context, e *Env, do func(ctx context.Context, cs *client.Contracts) error) error {
	poster, err := publicKey("--poster", "the command line", e.flags.poster)
	if err != nil {
		return err
	}
	return acting(ctx, e, false, func(ctx context.Context, cs *client.Contracts) error { return do(ctx, cs.By(poster)) })
}

// withNames runs do, about names of agents, in the name of the key; where there
// is none, of the token.
func withNames(ctx context.Context, e *Env, do func(ctx context.Context, cs *client.Contracts) error) error {
	return acting(ctx, e, true, do)
}

func acting(ctx context.Context, e *Env, keyFirst bool, do func(ctx context.Context, cs *client.Contracts) error) error {
	c, err := act(ctx, e, keyFirst)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, done := e.bounded(ctx)
	defer done()
	return do(ctx, c.Contracts())
}
