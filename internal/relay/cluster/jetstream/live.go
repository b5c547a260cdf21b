package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"
)

const (
	fromHeader  = "Engramd-From" // the connection that sent something
	liveWaiting = 4096           // messages of one subscription that may wait here
	liveBytes   = 16 << 20       // and their bytes; what comes more is dropped
)

// ErrSuffix means that a subject cannot be made of the given words.
var ErrSuffix = errors.New("want words of letters, digits, _ and - with points between them")

// side is what nodes tell each other beside the log: ephemeral events and backups.
type side struct {
	nc     *nats.Conn
	id     string // of this connection: what it sent itself is ignored
	stream string
	log    *slog.Logger
}

// Publish hands data to all other nodes that subscribe to the suffix now. It is
// best effort: nothing is stored, and no error means only that it was sent.
func (c *side) Publish(ctx context.Context, suffix string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	subject, err := c.live(suffix)
	if err != nil {
		return err
	}
	if len(data) > maxMessage/2 {
		return ErrTooLarge
	}
	m := nats.NewMsg(subject)
	m.Header.Set(fromHeader, c.id)
	m.Data = data
	if err := c.nc.PublishMsg(m); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// Subscribe calls fn for what other nodes publish under the suffix, one after the
// other, until stop is called. While fn is slow 4,096 messages wait, or 16 MiB;
// more are dropped.
func (c *side) Subscribe(suffix string, fn func(data []byte)) (stop func(), err error) {
	subject, err := c.live(suffix)
	if err != nil {
		return nil, err
	}
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) {
		if m.Header.Get(fromHeader) != c.id {
			fn(m.Data)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	if err := sub.SetPendingLimits(liveWaiting, liveBytes); err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, c.arrived()
}

// arrived waits until the servers know the subscriptions that were made, if they
// can be reached; otherwise they learn of them later.
func (c *side) arrived() error {
	if err := c.nc.FlushTimeout(dialLimit); err != nil && c.nc.IsClosed() {
		return fmt.Errorf("subscribe: %w", err)
	}
	return nil
}

// live returns the subject of a suffix.
func (c *side) live(suffix string) (string, error) {
	for word := range strings.SplitSeq(suffix, ".") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return "", ErrSuffix
		}
	}
	return "engramd.live." + c.stream + "." + suffix, nil
}
