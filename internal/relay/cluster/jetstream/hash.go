package jetstream

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
)

// standing answers what a node has read up to a number.
type standing struct {
	Hash string `json:"hash,omitempty"` // in hex, "" if it is not known
	Size int64  `json:"size"`           // of its database
}

// mostAnswers is how many are looked at.
const mostAnswers = 64

// Hashes asks the nodes that run for their hash of all messages up to a number, and
// returns those that are known, with the size of the largest database.
func (c *side) Hashes(ctx context.Context, number uint64) (hashes [][16]byte, size int64, err error) {
	text, err := json.Marshal(number)
	if err != nil {
		return nil, 0, fmt.Errorf("encode: %w", err)
	}
	answers := 0
	err = c.askAll(ctx, ".hash", text, func(_ context.Context, m *nats.Msg) bool {
		var s standing
		if json.Unmarshal(m.Data, &s) == nil {
			size = max(size, s.Size)
			if b, err := hex.DecodeString(s.Hash); err == nil && len(b) == 16 {
				hashes = append(hashes, [16]byte(b))
			}
		}
		answers++
		return answers == mostAnswers
	})
	return hashes, size, err
}

// tell answers it.
func (s *serving) tell(m *nats.Msg) {
	var number uint64
	if s.HashAt == nil || json.Unmarshal(m.Data, &number) != nil {
		return
	}
	answer := standing{Size: s.Size()}
	if hash, known := s.HashAt(number); known {
		answer.Hash = hex.EncodeToString(hash[:])
	}
	text, _ := json.Marshal(answer) // a text and a number
	_ = m.Respond(text)
}

// askAll asks all nodes that give backups, and hands what comes to fn until that has
// enough or nobody can be expected to answer any more.
func (c *side) askAll(ctx context.Context, what string, data []byte, fn func(context.Context, *nats.Msg) (enough bool)) error {
	ctx, cancel := context.WithTimeout(ctx, findLimit)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("look for peers: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // it fails if the connection is closed
	ask := nats.NewMsg(c.peers() + what)
	ask.Reply, ask.Data = inbox, data
	ask.Header.Set(fromHeader, c.id)
	if err := c.nc.PublishMsg(ask); err != nil {
		return fmt.Errorf("look for peers: %w", err)
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil || fn(ctx, m) {
			return nil // those that have not answered do not
		}
	}
}
