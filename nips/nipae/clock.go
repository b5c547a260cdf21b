package nipae

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip40"
)

// PoisonThreshold is how far ahead of the clock a write may be dated. It is
// less than the 15 minutes that relays accept, so what passes here is taken
// there.
const PoisonThreshold = 10 * time.Minute

// ErrClockPoisoned means that a slug's head is dated so far ahead that nothing
// can supersede it yet: a conflict, to be shown to a person and not retried.
var ErrClockPoisoned = errors.New("the head is dated too far in the future to be superseded")

// NextCreatedAt returns the time of a write, max(now, head+1) (NIP-AE,
// "Writing"): now is the clock's, head that of the current head or 0 if there
// is none, all in Unix seconds. If it is more than PoisonThreshold ahead of
// now, the error is ErrClockPoisoned.
func NextCreatedAt(now, head int64) (int64, error) {
	if head < now {
		return now, nil
	}
	// head ≥ now, so the difference fits an uint64 whatever the signs are.
	ahead := uint64(head) - uint64(now)
	if head == math.MaxInt64 || ahead >= uint64(PoisonThreshold/time.Second) {
		return 0, fmt.Errorf("%w: by %d seconds", ErrClockPoisoned, ahead)
	}
	return head + 1, nil
}

// Expiration returns when relays may drop the event, in Unix seconds (NIP-40),
// and false if it never expires. An expired engram is still valid; that relays
// drop it at different times is for the caller to see.
func Expiration(ev *nostr.Event) (int64, bool) {
	if at := nip40.GetExpiration(ev.Tags); at >= 0 {
		return int64(at), true
	}
	return 0, false
}
