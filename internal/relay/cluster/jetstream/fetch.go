package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	findLimit  = 2 * time.Second // for the peers to answer
	chunkLimit = 4 * time.Second // for one chunk; longer than makingWait
	chunkTries = 4
)

// Errors of Fetch.
var (
	ErrNoPeer = errors.New("no other node of the cluster gives a backup now")
	// ErrTransfer means that what was written is not a whole backup.
	ErrTransfer = errors.New("the backup did not arrive whole")
)

// Fetch writes a backup of any other node that serves them to w. On an error what
// was written is worthless: begin again with an empty file. The time it may take
// is that of ctx, and an hour at most; a peer that is gone is noticed after about
// a quarter of a minute.
func (c *side) Fetch(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, transferLimit)
	defer cancel()
	peer, id, err := c.begin(ctx)
	if err != nil {
		return err
	}
	return c.transfer(ctx, peer, id, w)
}

// transfer writes the backup that a peer has begun to w.
func (c *side) transfer(ctx context.Context, peer, id string, w io.Writer) error {
	own := c.peers() + "." + peer
	defer func() {
		text, _ := json.Marshal(question{ID: id}) // a string
		_ = c.nc.Publish(own+".done", text)       // or the peer notices that nothing is asked for
	}()
	sum := sha256.New()
	for offset := int64(0); ; {
		state, data, err := c.chunk(ctx, own+".chunk", question{ID: id, Offset: offset})
		if err != nil {
			return err
		}
		switch state {
		case stateMaking:
			continue
		case stateData:
			if _, err := w.Write(data); err != nil {
				return fmt.Errorf("write the backup: %w", err)
			}
			sum.Write(data)
			offset += int64(len(data))
		case stateEnd:
			var end ending
			if err := json.Unmarshal(data, &end); err != nil || end.Size != offset || end.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				return fmt.Errorf("%w: its sum is not that of the peer's", ErrTransfer)
			}
			return nil
		default:
			return fmt.Errorf("%w: %s", ErrTransfer, printable(data))
		}
	}
}

// begin finds a peer and has it begin.
func (c *side) begin(ctx context.Context) (peer, id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return "", "", fmt.Errorf("look for peers: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // it fails if the connection is closed
	ask := nats.NewMsg(c.peers() + ".find")
	ask.Reply = inbox
	ask.Header.Set(fromHeader, c.id)
	if err := c.nc.PublishMsg(ask); err != nil {
		return "", "", fmt.Errorf("look for peers: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return "", "", ErrNoPeer
		}
		if len(m.Data) != len(c.id) {
			continue
		}
		peer = string(m.Data)
		answer, err := c.nc.RequestWithContext(ctx, c.peers()+"."+peer+".begin", nil)
		if err == nil && len(answer.Data) == len(c.id) {
			return peer, string(answer.Data), nil
		}
	}
}

// chunk asks for one, more than once if nothing comes.
func (c *side) chunk(ctx context.Context, subject string, q question) (state string, data []byte, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return "", nil, fmt.Errorf("encode: %w", err)
	}
	for range chunkTries {
		asked, cancel := context.WithTimeout(ctx, chunkLimit)
		m, failed := c.nc.RequestWithContext(asked, subject, text)
		if failed == nil {
			cancel()
			if len(m.Data) > chunkSize {
				return "", nil, fmt.Errorf("%w: a piece is too large", ErrTransfer)
			}
			return m.Header.Get(stateHeader), m.Data, nil
		}
		err = failed
		<-asked.Done() // it may be back in a moment
		cancel()
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
	}
	return "", nil, fmt.Errorf("%w: the peer does not answer: %w", ErrTransfer, err)
}

// printable is what a peer said, made harmless.
func printable(text []byte) string {
	if len(text) > 200 {
		text = text[:200]
	}
	return fmt.Sprintf("%q", text)
}
