package relay

import (
	"context"
	"errors"
	"fmt"
)

// ErrBehind means that it is not known whether this node has executed
// everything that was acknowledged: nothing is read for a client then, because
// an old answer would be taken for a current one.
var ErrBehind = errors.New("it is not known whether this node has everything that was acknowledged")

// Latest returns when everything is here that was acknowledged anywhere before
// the call (Config.Latest). Authorize, History and Past call it; what is read
// on another way than through them has to.
func (r *Relay) Latest(ctx context.Context) error {
	if r.cfg.Latest == nil {
		return nil
	}
	err := r.cfg.Latest(ctx)
	if err == nil {
		return nil
	}
	if gone := context.Cause(ctx); gone != nil {
		return gone
	}
	return fmt.Errorf("%w: %w", ErrBehind, err)
}
