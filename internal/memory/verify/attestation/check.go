package attestation

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/mod/sumdb/tlog"

	"engramd/internal/protocol/wire"
	"engramd/internal/protocol/writerlog"
)

var (
	// ErrInconsistent means that today's log does not begin with the one that was
	// attested: it was rewritten, forked or rolled back.
	ErrInconsistent = errors.New("today's log is not a continuation of the one that was attested")
	// ErrForeign means that somebody else has signed it.
	ErrForeign = errors.New("another agent has signed it")
	// ErrUnknown means that too little of today's log is known to tell.
	ErrUnknown = errors.New("it cannot be told whether today's log continues the one that was attested")
)

// Log is what is known of a writer's log now.
type Log struct {
	IDs  []writerlog.Hash // of numbers 0 on, as far as they are known without a gap
	Fork int64            // the first number that two ids are known of; -1: none
	// Own says that it is the writer's own record: there are no numbers behind IDs.
	Own bool
}

// Known returns what events and log units tell of a log. Those must be the
// agent's; what one event says of another (prev, void) counts too. It takes no
// time for numbers that are claimed and not told of.
func Known(w string, events map[string]writerlog.Event, units []writerlog.Unit) Log {
	of, log := map[int64]writerlog.Hash{}, Log{Fork: -1}
	know := func(n int64, id writerlog.Hash) {
		if was, ok := of[n]; ok && was != id && (log.Fork < 0 || n < log.Fork) {
			log.Fork = n
		}
		of[n] = id
	}
	say := func(n int64, digits string) {
		if id, ok := writerlog.ParseID(digits); ok {
			know(n, id)
		}
	}
	for id, e := range events {
		l := e.Link
		if l == nil {
			continue
		}
		for _, h := range l.After {
			if h.W == w {
				say(h.N, h.ID)
			}
		}
		if l.W != w {
			continue
		}
		say(l.N, id)
		if l.Prev != "" {
			say(l.N-1, l.Prev)
		}
		for _, v := range l.Void {
			say(v.N, v.ID)
		}
	}
	for _, u := range units {
		if u.W != w {
			continue
		}
		for i, id := range u.IDs {
			know(u.First+int64(i), id)
		}
		for _, v := range u.Void {
			say(v.N, v.ID)
		}
	}
	for n := int64(0); ; n++ {
		id, ok := of[n]
		if !ok {
			return log
		}
		log.IDs = append(log.IDs, id)
	}
}

// Check proves that the log begins with what was attested, by a proof of
// consistency (RFC 6962, 2.1.2), and returns the root of all that is known of it,
// in hex. The error is ErrInconsistent or ErrUnknown.
func Check(a Attestation, log Log) (root string, err error) {
	var tree writerlog.Tree
	for _, id := range log.IDs {
		tree.Append(id)
	}
	size := tree.Size()
	now := tree.Root(size)
	root = hex.EncodeToString(now[:])
	switch {
	case log.Fork >= 0 && log.Fork < a.N:
		return root, fmt.Errorf("%w: two events have the number %d", ErrInconsistent, log.Fork)
	case size < a.N && log.Own:
		return root, fmt.Errorf("%w: it had %d numbers, and has %d", ErrInconsistent, a.N, size)
	case size < a.N:
		return root, fmt.Errorf("%w: the ids of its first %d numbers are known, and it had %d", ErrUnknown, size, a.N)
	}
	proof, err := tree.Proof(size, a.N)
	if err != nil {
		return root, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err := tlog.CheckTree(proof, size, now, a.N, a.Root); err != nil {
		return root, fmt.Errorf("%w: its first %d numbers have another root", ErrInconsistent, a.N)
	}
	return root, nil
}

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
