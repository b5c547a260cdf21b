package nipae

import (
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// ErrSignature means that an event's id is not that of its content, or that its
// signature does not hold (NIP-01).
var ErrSignature = errors.New("the event's id or signature is wrong")

// verify checks id and signature. Lengths and digits come first: go-nostr,
// built with libsecp256k1, decodes pubkey and signature into arrays of fixed
// size and panics on longer ones.
func verify(ev *nostr.Event) error {
	if !isHex32(ev.ID) || !isHex32(ev.PubKey) || len(ev.Sig) != 128 ||
		!isHex32(ev.Sig[:64]) || !isHex32(ev.Sig[64:]) {
		return fmt.Errorf("%w: id, pubkey and sig are 64, 64 and 128 lower-case hex digits", ErrSignature)
	}
	if !ev.CheckID() {
		return fmt.Errorf("%w: the id is another event's", ErrSignature)
	}
	// The library's error repeats the key, and depends on the build.
	if ok, err := ev.CheckSignature(); !ok || err != nil {
		return fmt.Errorf("%w: it is not signed by its author", ErrSignature)
	}
	return nil
}
