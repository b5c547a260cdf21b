// Package bearer acts on contracts and names by a key or a token.
package bearer

import (
	"context"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/nipae"
)

// Token is a token with which an agent acts whose key a relay keeps, and
// that relay's URL; zero for none.
type Token struct{ Text, Relay string }

// BearerToken is ENGRAM_TOKEN, for the relay that ENGRAM_TOKEN_RELAY names, and no
// other.
func BearerToken(e *cliutil.Env) (Token, error) {
	t := Token{Text: strings.TrimSpace(e.Vars["ENGRAM_TOKEN"]), Relay: e.Vars["ENGRAM_TOKEN_RELAY"]}
	if t.Text == "" {
		return Token{}, nil
	}
	lower := strings.ToLower(t.Text)
	if _, _, err := settings.ParseSecret(t.Text); err == nil || strings.HasPrefix(lower, "nsec1") || strings.HasPrefix(lower, "ncryptsec1") {
		return Token{}, exit.Usagef("ENGRAM_TOKEN holds a secret key, which is never sent to a relay: it belongs into a key file")
	}
	if t.Relay == "" {
		return Token{}, exit.Usagef("ENGRAM_TOKEN is set, and ENGRAM_TOKEN_RELAY is not: a token is sent to the relay that made it alone")
	}
	if scheme, rest, found := strings.Cut(t.Relay, "://"); found && strings.HasPrefix(strings.ToLower(scheme), "http") {
		t.Relay = "ws" + strings.ToLower(scheme)[len("http"):] + "://" + rest
	}
	canonical, err := nipae.CanonicalRelayURL(t.Relay)
	if err != nil {
		return Token{}, exit.Usagef("ENGRAM_TOKEN_RELAY %q: %w", settings.ShownURL(t.Relay), err)
	}
	for _, named := range e.Flags.Relays {
		if other, err := nipae.CanonicalRelayURL(named); err != nil || other != canonical {
			return Token{}, exit.Usagef("--relay %s is not the relay of ENGRAM_TOKEN, %s: a token is sent to that one alone", settings.ShownURL(named), settings.ShownURL(t.Relay))
		}
	}
	return t, nil
}

// Acting makes a client that acts on contracts: by the token, unless the command
// line names a key, or there is none. keyFirst is for what a key may do and a
// token may not: then the token counts where no key is configured.
func Acting(ctx context.Context, e *cliutil.Env, keyFirst bool) (*client.Client, error) {
	s, err := e.Settings()
	if err != nil {
		return nil, err
	}
	t := Token{}
	if e.Flags.KeyFile == "" && !(keyFirst && s.Key != (settings.KeySource{})) {
		if t, err = BearerToken(e); err != nil {
			return nil, err
		}
	}
	if t == (Token{}) {
		c, _, err := e.Client(ctx)
		return c, err
	}
	return Bearing(e, t)
}

// Bearing makes a client that acts by a token.
func Bearing(e *cliutil.Env, t Token) (*client.Client, error) {
	c, err := client.NewBearer(t.Text, t.Relay, client.Options{Timeout: e.Flags.Timeout, Trace: e.Trace()})
	if err != nil {
		return nil, exit.BadUsage(err)
	}
	return c, nil
}

// WithContracts runs do in the name of the key or the token, with the other party's key
// of --with and the contracts of --poster, at the configured relays: where a contract is
// kept is agreed with its other party, and no list of one's own says it.
func WithContracts(ctx context.Context, e *cliutil.Env, do func(ctx context.Context, cs *contract.Contracts, with string) error) error {
	with, err := settings.PublicKey("--with", "the command line", e.Flags.With)
	if err != nil {
		return err
	}
	poster, err := settings.PublicKey("--poster", "the command line", e.Flags.Poster)
	if err != nil {
		return err
	}
	return acting(ctx, e, false, func(ctx context.Context, cs *contract.Contracts) error { return do(ctx, cs.By(poster), with) })
}

// WithNames runs do, about names of agents, in the name of the key; where there
// is none, of the token.
func WithNames(ctx context.Context, e *cliutil.Env, do func(ctx context.Context, cs *contract.Contracts) error) error {
	return acting(ctx, e, true, do)
}

func acting(ctx context.Context, e *cliutil.Env, keyFirst bool, do func(ctx context.Context, cs *contract.Contracts) error) error {
	c, err := Acting(ctx, e, keyFirst)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, done := e.Bounded(ctx)
	defer done()
	return do(ctx, contract.Of(c))
}
