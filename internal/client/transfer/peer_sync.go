package transfer

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

const (
	// syncPatience is how long the first answer of a reconciliation may take, if
	// Options.Grace is not more. A relay that does not know NIP-77 need not answer at
	// all.
	syncPatience = 5 * time.Second
	// maxIdleRounds is how many messages may pass that tell no difference, and
	// freeBytes and bytesPerID how much a relay may say besides and about each.
	maxIdleRounds = 256
	bytesPerID    = 4096
	freeBytes     = 16 << 20
)

var (
	// ErrNoSync means that a relay does not reconcile sets (NIP-77).
	ErrNoSync = errors.New("the relay does not reconcile (NIP-77)")
	// errEndless means that messages go on and tell nothing.
	errEndless = fmt.Errorf("%w: its reconciliation comes to no end", client.ErrMisbehaved)
	// errTooMany means that more fits a filter than a relay reconciles at once.
	errTooMany = errors.New("too many events for one reconciliation")
)

// negotiation is one NIP-77 session on a connection.
type negotiation struct {
	q       *client.Question
	rules   rounds
	timeout time.Duration // of one message
}

// rounds bounds a session: a relay must come to an end, or to what differs.
type rounds struct {
	idle  int // messages since the last that told something
	bytes int64
	ids   int // that it alone has, in sessions of other parts of the time too
	told  int
	most  int // ids
}

// tell counts so many differences that were told, and ids among them that this
// relay alone has.
func (r *rounds) tell(named, told int) {
	r.ids += named
	r.told += told
	if told > 0 {
		r.idle = 0
	}
}

// spend counts a message of so many bytes.
func (r *rounds) spend(size int) error {
	r.bytes += int64(size)
	r.idle++
	switch {
	case r.idle > maxIdleRounds:
		return errEndless
	case r.ids > r.most:
		return fmt.Errorf("%w: it named more than %d ids", client.ErrMisbehaved, r.most)
	case r.bytes > freeBytes+bytesPerID*int64(r.told):
		return fmt.Errorf("%w: it sent %d bytes for %d differences", client.ErrMisbehaved, r.bytes, r.told)
	}
	return nil
}

// open begins a session and returns the relay's first answer, AUTH on demand.
// named is how many ids it has named before, in other parts of the time.
// ErrNoSync: it does not reconcile. errTooMany: not that much at once.
func open(ctx context.Context, conn *client.Conn, f nostr.Filter, first []byte, named int, o client.Options) (n *negotiation, answer []byte, err error) {
	soon := max(syncPatience, o.Grace)
	ctx, done := context.WithTimeout(ctx, o.Timeout+soon)
	defer done()
	err = conn.WithAuth(ctx, 0, false, func() (refusal *client.RefusalError, err error) {
		if n != nil {
			n.close()
		}
		n = &negotiation{q: conn.Question(), rules: rounds{ids: named, most: o.Limits.Events}, timeout: o.Timeout}
		if answer, err = n.begin(ctx, soon, f, first); errors.As(err, &refusal) {
			return refusal, nil
		}
		return nil, err
	})
	if err == nil {
		return n, answer, nil
	}
	n.close()
	if refusal, ok := errors.AsType[*client.RefusalError](err); ok {
		return nil, nil, refusedSync(refusal)
	}
	return nil, nil, err
}

// refusedSync tells what is meant by a NEG-ERR.
func refusedSync(r *client.RefusalError) error {
	text := strings.ToLower(r.Message)
	switch {
	case strings.Contains(text, "too many query results"), strings.Contains(text, "results_too_big"):
		return fmt.Errorf("%w: %w", errTooMany, r)
	case r.AsksAuth(), r.Prefix() == "rate-limited", r.Prefix() == "invalid":
		return r
	}
	return fmt.Errorf("%w: %w", ErrNoSync, r)
}

func (n *negotiation) begin(ctx context.Context, within time.Duration, f nostr.Filter, first []byte) ([]byte, error) {
	text, err := json.Marshal([]any{"NEG-OPEN", n.q.ID, f, hex.EncodeToString(first)})
	if err != nil {
		return nil, fmt.Errorf("encode filter: %w", err)
	}
	soon, done := context.WithTimeout(ctx, within)
	defer done()
	answer, err := n.say(soon, text)
	if errors.Is(err, client.ErrTimeout) && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: no answer in %v", ErrNoSync, within)
	}
	return answer, err
}

// exchange sends a message and returns the answer.
func (n *negotiation) exchange(ctx context.Context, msg []byte) ([]byte, error) {
	ctx, done := context.WithTimeout(ctx, n.timeout)
	defer done()
	answer, err := n.say(ctx, fmt.Appendf(nil, `["NEG-MSG",%q,"%x"]`, n.q.ID, msg))
	if refusal, ok := errors.AsType[*client.RefusalError](err); ok {
		return nil, refusedSync(refusal)
	}
	return answer, err
}

// say sends a frame and waits for the relay's word.
func (n *negotiation) say(ctx context.Context, frame []byte) ([]byte, error) {
	if err := n.q.Send(ctx, frame); err != nil {
		return nil, err
	}
	m, err := n.q.Next(ctx, "no answer to a reconciliation", "NEG-MSG", "NEG-ERR", "CLOSED")
	switch {
	case err != nil:
		return nil, err
	case m.Label != "NEG-MSG":
		return nil, m.Refusal()
	}
	msg, err := hex.DecodeString(m.Text)
	if err != nil {
		return nil, fmt.Errorf("%w: a NEG-MSG is not hex", client.ErrMisbehaved)
	}
	return msg, nil
}

// close ends the session here and, if that can be done at once, there.
func (n *negotiation) close() {
	n.q.Leave()
	n.q.Cancel(fmt.Appendf(nil, `["NEG-CLOSE",%q]`, n.q.ID))
}
