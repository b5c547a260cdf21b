package relayhttp

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay"
	"engramd/nips/nip01"
)

// Sessions let a client that changes between nodes see at each what it saw before.
type Sessions interface {
	// Token names all that is here now, for a key alone. It says nothing to others.
	Token(key string) string
	// Resume returns when all is here that a token of the key names, and ErrSession if it
	// is none.
	Resume(ctx context.Context, key, token string) error
}

// ErrSession means that a token is not one that a node gave this key.
var ErrSession = errors.New("the session is not one of this key here: ask without " + relay.SessionHeader)

// resume waits for what a key that is proved has seen before, and has the answer name
// what it sees now.
func (in *intake) resume(c *call) error {
	key := c.signed.pubkey
	if in.sessions == nil || c.signed.id == "" {
		return nil
	}
	if sent := c.Header.Values(relay.SessionHeader); len(sent) > 0 {
		err := ErrSession
		if len(sent) == 1 {
			err = in.sessions.Resume(c.Context(), key, sent[0])
		}
		switch {
		case errors.Is(err, ErrSession):
			return refused(nip01.PrefixInvalid, ErrSession.Error())
		case err != nil && c.Context().Err() == nil:
			in.metrics.HTTP.HTTPRefused("behind")
			return failed(fmt.Errorf("%w: %w", relay.ErrBehind, err))
		case err != nil:
			return failed(err)
		}
	}
	c.w.(*statusWriter).session = func() string { return in.sessions.Token(key) }
	return nil
}
