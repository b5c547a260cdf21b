package attestation

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/protocol/writerlog"
)

// Kind is that of the event: application data (NIP-78).
const Kind = nostr.KindApplicationSpecificData

// MaxBytes bounds an event that Parse reads; one is about 550 bytes long.
const MaxBytes = 4 << 10

// prefix begins the d tag, before the writer's log.
const prefix = "engram-attest:"

// maxN is the greatest size that a log can have.
const maxN = 1 << 53

var (
	// ErrForm is an event that is no attestation, or says more than one does.
	ErrForm = errors.New("not an attestation")
	// ErrSignature is one whose id or signature is wrong.
	ErrSignature = errors.New("its id or signature is wrong")
)

// Attestation is what is signed, and nothing beside it.
type Attestation struct {
	W     string         // the writer's log: 8 lower-case hex digits
	N     int64          // how many numbers it has, at least 1
	Root  writerlog.Hash // the head of the tree over these
	Heads writerlog.Hash // heads_root of the agent's memory (docs/snapshots.md)
	At    int64          // created_at, in Unix seconds

	ID    string // of the event; "" before it is signed
	Agent string // who signed it, in hex
}

// D is the d tag of a log's attestations, of which a relay keeps the newest.
func D(log string) string { return prefix + log }

// Event returns the event to sign.
func (a Attestation) Event() *nostr.Event {
	return &nostr.Event{Kind: Kind, CreatedAt: nostr.Timestamp(a.At), Tags: nostr.Tags{
		{"d", D(a.W)}, {"n", strconv.FormatInt(a.N, 10)}, {"root", hex.EncodeToString(a.Root[:])}, {"heads_root", hex.EncodeToString(a.Heads[:])}}}
}

// Parse reads an event in JSON, and blanks around it, and checks its signature.
// The error is ErrForm or ErrSignature.
func Parse(b []byte) (Attestation, error) {
	if len(b) > MaxBytes {
		return Attestation{}, fmt.Errorf("%w: it is longer than %d bytes", ErrForm, MaxBytes)
	}
	ev, err := wire.ParseEvent([]byte(strings.TrimSpace(string(b))))
	if err != nil {
		return Attestation{}, fmt.Errorf("%w: %w", ErrForm, err)
	}
	return Of(ev)
}

// Of is Parse of an event.
func Of(ev *nostr.Event) (Attestation, error) {
	bad := func(why string) (Attestation, error) { return Attestation{}, fmt.Errorf("%w: %s", ErrForm, why) }
	if ev.Kind != Kind {
		return bad(fmt.Sprintf("its kind is not %d", Kind))
	}
	var values [4]string
	if len(ev.Tags) != len(values) || ev.Content != "" {
		return bad("it has the tags d, n, root and heads_root, and no content")
	}
	for i, name := range [...]string{"d", "n", "root", "heads_root"} {
		if tag := ev.Tags[i]; len(tag) != 2 || tag[0] != name {
			return bad("it has the tags d, n, root and heads_root in this order, each with one value")
		}
		values[i] = ev.Tags[i][1]
	}
	a := Attestation{At: int64(ev.CreatedAt), ID: ev.ID, Agent: ev.PubKey}
	var found, whole, heads bool
	a.W, found = strings.CutPrefix(values[0], prefix)
	if !found || !writerlog.IsLog(a.W) {
		return bad("d does not name a writer's log")
	}
	n, err := strconv.ParseInt(values[1], 10, 64)
	if err != nil || n < 1 || n > maxN || strconv.FormatInt(n, 10) != values[1] {
		return bad("n is no size of a log")
	}
	a.N = n
	a.Root, whole = writerlog.ParseID(values[2])
	if a.Heads, heads = writerlog.ParseID(values[3]); !whole || !heads {
		return bad("a root is not 64 lower-case hex digits")
	}
	if err := wire.Verify(ev); err != nil {
		return Attestation{}, fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return a, nil
}
