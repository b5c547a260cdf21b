package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// Publish sends a signed event to every relay that is written to (WriteTargets) in
// parallel and waits for their OKs. It is sent once to each: a refusal is
// final, except one that asks for AUTH, and one for being too many in a time
// (rate-limited:), after which it is sent again while there is time.
//
// The error is nil if at least one relay accepted it. Otherwise it is
// ErrConflict if some relay has a newer version and refused it for that; else
// ErrNoRelay, ErrRefused or ErrAuth, by what most of the relays had to say for
// themselves: ErrAuth or ErrRefused only if no relay merely failed.
func (c *Client) Publish(ctx context.Context, ev *nostr.Event) ([]PublishStatus, error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	published, err := c.PublishThose(ctx, c.WriteTargets(), ev, nil)
	settle(ctx, c, ev, published)
	return published, err
}

// settle notes what became of an engram of ours that was composed before.
func settle(ctx context.Context, c *Client, ev *nostr.Event, published []PublishStatus) {
	if c.o.Links == nil || ev.Kind != nipae.Kind || ev.PubKey != c.id.PubKey() || len(published) == 0 {
		return
	}
	if tag := ev.Tags.Find("p"); tag != nil {
		if links := c.o.Links(c, tag[1]); links != nil {
			Settle(ctx, links, ev, published)
		}
	}
}

// PublishThose is Publish within an operation, to those relays. Relays that are
// named slow have just let a question time out: once all the others have
// answered, they get a part of the time that is left.
func (c *Client) PublishThose(ctx context.Context, to []Target, ev *nostr.Event, slow map[string]bool) ([]PublishStatus, error) {
	if err := wire.Verify(ev); err != nil {
		return nil, err
	}
	if len(to) == 0 {
		return nil, ErrNoneConfigured
	}
	start := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var others atomic.Int32 // relays that are not slow and have not answered
	for _, t := range to {
		if !slow[t.URL] {
			others.Add(1)
		}
	}
	answered := func() {
		if others.Add(-1) == 0 && len(slow) > 0 {
			time.AfterFunc(max(minGrace, left(ctx)/slowShare), cancel)
		}
	}
	all := Each(ctx, to,
		func(ctx context.Context, t Target) PublishStatus {
			if !slow[t.URL] {
				defer answered()
			}
			return c.PublishTo(ctx, t, ev, start)
		},
		func(t Target, err error) PublishStatus {
			return PublishStatus{URL: t.URL, Err: err, Took: time.Since(start)}
		})
	return all, publishError(all)
}

// PublishTo sends an event to one relay.
func (c *Client) PublishTo(ctx context.Context, t Target, ev *nostr.Event, start time.Time) PublishStatus {
	s := PublishStatus{URL: t.URL}
	// Once more on a connection that had died: the same event twice is one.
	s.Err = c.With(ctx, t, func(conn *Conn) (err error) {
		s.Message, err = conn.submit(ctx, ev)
		return err
	})
	if refusal, ok := errors.AsType[*RefusalError](s.Err); ok {
		s.Message = refusal.Message
		s.Superseded = strings.HasPrefix(refusal.Message, "duplicate:")
	}
	s.Accepted, s.Took = s.Err == nil, time.Since(start)
	return s
}

// publishError returns nil if some relay has the event.
func publishError(all []PublishStatus) error {
	var failed []RelayStatus
	superseded, refused, auth := false, 0, 0
	for _, s := range all {
		if s.Accepted {
			return nil
		}
		superseded = superseded || s.Superseded
		switch {
		case errors.Is(s.Err, ErrAuth):
			auth++
		case errors.Is(s.Err, ErrRefused):
			refused++
		}
		failed = append(failed, RelayStatus{URL: s.URL, Err: s.Err})
	}
	switch {
	case superseded:
		return &ConflictError{Reason: "a newer version is stored"}
	case len(all) > 0 && auth == len(all):
		return joined(ErrAuth, failed)
	case len(all) > 0 && auth+refused == len(all):
		return joined(ErrRefused, failed)
	}
	return joined(ErrNoRelay, failed)
}

// Why relays do not take an event again, in their words.
const (
	removedText = "blocked: removed by the operator"
	deletedText = "blocked: deleted by its author"
	damagedText = "error: damaged"
	expiredText = "blocked: a newer version was stored, and has expired"
)

// Damaged reports whether a relay refused a question for an event that is damaged there:
// it takes that again.
func Damaged(err error) bool {
	var refusal *RefusalError
	return errors.As(err, &refusal) && refusal.Message == damagedText
}

// RemovedBy returns what a relay says that takes an event no more, its operator's removal
// before an expiry, and whether one says that its author had it deleted.
func RemovedBy(published []PublishStatus) (by Removal, deleted bool) {
	for _, s := range published {
		switch {
		case s.Accepted:
		case strings.HasPrefix(s.Message, removedText):
			by = Removal{Relay: s.URL}
		case strings.HasPrefix(s.Message, deletedText):
			deleted = true
		case strings.HasPrefix(s.Message, expiredText) && by.Relay == "":
			by = Removal{Relay: s.URL, Expired: true}
		}
	}
	return by, deleted
}

// TimedOut returns the relays that let a question time out.
func TimedOut(relays []RelayStatus) map[string]bool {
	slow := map[string]bool{}
	for _, r := range relays {
		if errors.Is(r.Err, ErrTimeout) {
			slow[r.URL] = true
		}
	}
	return slow
}

// Accepted counts the relays that have the event.
func Accepted(all []PublishStatus) (n int) {
	for _, s := range all {
		if s.Accepted {
			n++
		}
	}
	return n
}

// Message is one frame of a relay (NIP-01, NIP-42, NIP-45, NIP-67,
// NIP-77), as far as its label has meaning to us. Texts are the relay's and not to be trusted.
type Message struct {
	Label string
	sub   string          // EVENT, EOSE, CLOSED, COUNT, NEG-MSG, NEG-ERR
	Event json.RawMessage // EVENT
	id    string          // OK
	ok    bool            // OK
	Text  string          // OK, CLOSED, NOTICE, NEG-ERR; the challenge of AUTH; the hex of NEG-MSG
	hints []string        // EOSE
	Count int64           // COUNT; -1: it is not exact
}

// parseMessage reads a frame. Frames with a label that we do not know are no
// error; they come back with the label alone. Elements at the end that we do
// not know are ignored.
func parseMessage(frame []byte) (Message, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(frame, &parts); err != nil || len(parts) == 0 {
		return Message{}, fmt.Errorf("%w: a message is not a JSON array", ErrMisbehaved)
	}
	var m Message
	if json.Unmarshal(parts[0], &m.Label) != nil {
		return Message{}, fmt.Errorf("%w: a message has no label", ErrMisbehaved)
	}
	args := parts[1:]
	text := func(i int, to *string) bool {
		return i < len(args) && json.Unmarshal(args[i], to) == nil
	}
	good := true
	switch m.Label {
	case "EVENT":
		if good = text(0, &m.sub) && len(args) > 1; good {
			m.Event = args[1]
		}
	case "EOSE":
		good = text(0, &m.sub)
		if good && len(args) > 1 && json.Unmarshal(args[1], &m.hints) != nil {
			m.hints = nil
		}
	case "COUNT":
		if good = text(0, &m.sub) && len(args) > 1; good {
			m.Count, good = parseCount(args[1])
		}
	case "NEG-MSG":
		good = text(0, &m.sub) && text(1, &m.Text)
	case "CLOSED", "NEG-ERR":
		if good = text(0, &m.sub); good && len(args) > 1 {
			good = text(1, &m.Text)
		}
	case "OK":
		good = text(0, &m.id) && len(args) > 1 && json.Unmarshal(args[1], &m.ok) == nil
		if good && len(args) > 2 {
			good = text(2, &m.Text)
		}
	case "AUTH", "NOTICE":
		good = text(0, &m.Text)
	}
	if !good {
		return Message{}, fmt.Errorf("%w: a message %s is malformed", ErrMisbehaved, m.Label)
	}
	return m, nil
}

// parseCount reads what a relay counted (NIP-45).
func parseCount(raw json.RawMessage) (n int64, good bool) {
	var c struct {
		Count       *int64 `json:"count"`
		Approximate bool   `json:"approximate"`
	}
	if json.Unmarshal(raw, &c) != nil || c.Count == nil || *c.Count < 0 {
		return 0, false
	}
	if c.Approximate {
		return -1, true
	}
	return *c.Count, true
}

// hinted reports whether an EOSE said so (NIP-67: "finish" or "more").
func (m Message) hinted(hint string) bool { return slices.Contains(m.hints, hint) }

// Refusal returns the refusal that a CLOSED, an OK or a NEG-ERR says.
func (m Message) Refusal() *RefusalError { return &RefusalError{Message: Printable(m.Text)} }

// ReqFrame is ["REQ", sub, filter].
func ReqFrame(sub string, f nostr.Filter) ([]byte, error) {
	frame, err := json.Marshal([]any{"REQ", sub, f})
	if err != nil {
		return nil, fmt.Errorf("encode filter: %w", err)
	}
	return frame, nil
}
