package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	findLimit  = 2 * time.Second // for the peers to answer
	chunkLimit = 4 * time.Second // for one chunk; longer than makingWait
	chunkTries = 8
)

// Errors of Fetch.
var (
	ErrNoPeer = errors.New("no other node of the cluster gives a backup now")
	// ErrTransfer means that what was written is not a whole backup.
	ErrTransfer = errors.New("the backup did not arrive whole")
)

// Fetch fetches a backup that was begun to the end of f, which has what came of it
// before. On ErrTransfer what is there is worthless: begin again with an empty file. On
// another error go on with it. It may take as long as ctx allows, and a day at most; a
// peer that is gone is noticed after about half a minute.
func (c *side) Fetch(ctx context.Context, from string, f io.ReadWriter) error {
	ctx, cancel := context.WithTimeout(ctx, transferLimit)
	defer cancel()
	peer, id, ok := strings.Cut(from, ".")
	if !ok || len(peer) != len(c.id) || id == "" {
		return fmt.Errorf("%w: it was never begun", ErrTransfer)
	}
	own, sum := c.peers()+"."+peer, sha256.New()
	offset, err := io.Copy(sum, f)
	if err != nil {
		return fmt.Errorf("read what has come of the backup: %w", err)
	}
	for {
		state, data, err := c.chunk(ctx, own+".chunk", question{ID: id, Offset: offset})
		if err != nil {
			return err
		}
		switch state {
		case stateMaking:
			continue
		case stateData:
			if _, err := f.Write(data); err != nil {
				return fmt.Errorf("write the backup: %w", err)
			}
			sum.Write(data)
			offset += int64(len(data))
		case stateEnd:
			var end ending
			if err := json.Unmarshal(data, &end); err != nil || end.Size != offset || end.SHA256 != hex.EncodeToString(sum.Sum(nil)) {
				return fmt.Errorf("%w: its sum is not that of the peer's", ErrTransfer)
			}
			text, _ := json.Marshal(question{ID: id}) // a string
			_ = c.nc.Publish(own+".done", text)       // or the peer notices that nothing is asked for
			return nil
		default:
			return fmt.Errorf("%w: %s", ErrTransfer, printable(data))
		}
	}
}

// Begin has any other node that serves backups make one, and returns by what it is
// fetched.
func (c *side) Begin(ctx context.Context) (from string, err error) {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return "", fmt.Errorf("look for peers: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // it fails if the connection is closed
	ask := nats.NewMsg(c.peers() + ".find")
	ask.Reply = inbox
	ask.Header.Set(fromHeader, c.id)
	if err := c.nc.PublishMsg(ask); err != nil {
		return "", fmt.Errorf("look for peers: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return "", ErrNoPeer
		}
		if from, err = c.BeginAt(ctx, string(m.Data)); err == nil {
			return from, nil
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
