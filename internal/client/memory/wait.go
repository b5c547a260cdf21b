package memory

import (
	"context"
	"errors"
	"time"

	"engramd/internal/client"
)

// burstPatience is how long a write waits for its turn.
const burstPatience = 30 * time.Second

// errBusy says that a write found no place.
func errBusy() error {
	return &client.ConflictError{Reason: "busy: this memory is being written faster than once a second; nothing was published"}
}

// beyond returns a context that ends when ctx is cancelled, but not when its
// time is over: the time limit is for the network, and waiting for one's turn
// is not.
func beyond(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			cancel()
		}
	})
	return out, func() { stop(); cancel() }
}
