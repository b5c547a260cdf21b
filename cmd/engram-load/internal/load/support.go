package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ErrUnsupported means that the relay does not do what a workload is about, and
// does not claim to: there is no figure, and nothing is wrong.
var ErrUnsupported = errors.New("the relay does not support this")

const (
	nipCount  = 45
	nipSearch = 50

	maxDocument  = 1 << 20 // bytes of a NIP-11 document
	documentTime = 10 * time.Second
	// patience is how long one answer to COUNT or a search is waited for: longer
	// than any relay's own limit.
	patience = 30 * time.Second
)

// excuse turns a failed answer into ErrUnsupported where the relay says so
// itself (a CLOSED unsupported:), or where its NIP-11 document lists the NIPs
// it supports and this one is not among them. It returns err otherwise.
func excuse(ctx context.Context, t Target, nip int, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, ErrWrong) && !errors.Is(err, ErrRefused) && !errors.Is(err, ErrTimeout) {
		return err
	}
	var closed *closedError
	if errors.As(err, &closed) && strings.HasPrefix(closed.text, "unsupported:") {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	nips, unknown := supportedNIPs(ctx, t.URL)
	if unknown != nil || slices.Contains(nips, nip) {
		return err
	}
	return fmt.Errorf("%w: NIP-%d is not in its document, and %w", ErrUnsupported, nip, err)
}

// supportedNIPs asks the relay for its document (NIP-11).
func supportedNIPs(ctx context.Context, url string) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, documentTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http"+strings.TrimPrefix(url, "ws"), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/nostr+json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var document struct {
		NIPs []any `json:"supported_nips"` // some relays list texts ("7D") as well
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxDocument)).Decode(&document); err != nil {
		return nil, fmt.Errorf("NIP-11 document: %w", err)
	}
	if len(document.NIPs) == 0 {
		return nil, errors.New("NIP-11 document: it lists no NIPs")
	}
	var nips []int
	for _, nip := range document.NIPs {
		if n, ok := nip.(float64); ok {
			nips = append(nips, int(n))
		}
	}
	return nips, nil
}

// closedError is a CLOSED that answers a question.
type closedError struct{ text string }

// Error reports what the relay said.
func (e *closedError) Error() string { return "CLOSED: " + printable([]byte(e.text)) }

// Unwrap makes it an ErrRefused.
func (e *closedError) Unwrap() error { return ErrRefused }

// exchange sends messages and gives what is about the subscription askSub to
// take until that says that the answer is complete. It returns how long that
// took. CLOSED is a *closedError, and no answer within patience ErrTimeout.
func (c *Conn) exchange(ctx context.Context, patience time.Duration, take func(Message) (done bool, err error), messages ...[]byte) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%w: %v are over", ErrTimeout, patience))
	defer cancel()
	defer c.endWith(ctx)()
	start := time.Now()
	took, err := c.converse(start, take, messages)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return took, err
}

func (c *Conn) converse(start time.Time, take func(Message) (done bool, err error), messages [][]byte) (time.Duration, error) {
	if err := c.Send(messages...); err != nil {
		return 0, err
	}
	for others := 0; ; {
		b, err := c.Read()
		if err != nil {
			return 0, err
		}
		took := time.Since(start)
		m, err := ParseMessage(b)
		if err != nil {
			return 0, err
		}
		if string(m.Sub) != askSub {
			if others++; others > maxOthers || m.Label == LabelEvent {
				return 0, fmt.Errorf("%w: %s", ErrWrong, printable(b))
			}
			continue
		}
		if m.Label == LabelClosed {
			return took, &closedError{unquoted(m.Text)}
		}
		if done, err := take(m); done || err != nil {
			return took, err
		}
	}
}
