package load

import (
	"context"
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// Bounds of the talk that opens a connection.
const (
	maxOpening    = 100  // messages before the first answer is complete
	maxChallenge  = 1024 // bytes
	probeSub      = "open"
	closeProbe    = `["CLOSE","` + probeSub + `"]`
	authRequired  = "auth-required:"
	probeQuestion = `["REQ","` + probeSub + `",{"ids":["0000000000000000000000000000000000000000000000000000000000000000"],"limit":1}]`
)

// Open dials t, asks for an event that does not exist, and answers the
// challenge of NIP-42 that comes before or with the answer, as o.Auth says: the
// connection is then proved to be k's and ready to be measured. A nil k proves
// nobody.
func Open(ctx context.Context, t Target, o Options, k *Key) (*Conn, error) {
	return OpenWith(ctx, t, o, k, DialOptions{})
}

// OpenWith is Open with options of the connection.
func OpenWith(ctx context.Context, t Target, o Options, k *Key, d DialOptions) (*Conn, error) {
	if d.Rand == nil {
		d.Rand = o.Rand
	}
	c, err := Dial(ctx, t.URL, d)
	if err != nil {
		return nil, err
	}
	if err := c.introduce(t, o, k); err != nil {
		c.Close()
		return nil, fmt.Errorf("open %s: %w", t.URL, err)
	}
	return c, nil
}

// introduce asks the first question and settles who asks.
func (c *Conn) introduce(t Target, o Options, k *Key) error {
	if err := c.Send([]byte(probeQuestion)); err != nil {
		return err
	}
	may := k != nil && o.Auth != AuthNever
	answered, pending, proved := false, "", false
	for range maxOpening {
		if answered && pending == "" && (proved || !may || o.Auth != AuthRequire) {
			return c.Send([]byte(closeProbe))
		}
		b, err := c.Read()
		if err != nil {
			return err
		}
		m, err := ParseMessage(b)
		if err != nil {
			return err
		}
		switch m.Label {
		case LabelAuth:
			if !may || proved || pending != "" {
				continue
			}
			if pending, err = c.prove(t, o, k, unquoted(m.Text)); err != nil {
				return err
			}
		case LabelOK:
			if pending == "" || string(m.ID) != pending {
				return fmt.Errorf("%w: an OK to what was not sent", ErrWrong)
			}
			if !m.OK {
				return fmt.Errorf("%w: AUTH: %s", ErrRefused, printable(m.Text))
			}
			pending, proved = "", true
		case LabelEOSE, LabelClosed:
			if string(m.Sub) != probeSub {
				continue
			}
			if m.Label == LabelClosed && !strings.HasPrefix(unquoted(m.Text), authRequired) {
				return fmt.Errorf("%w: a question: %s", ErrRefused, printable(m.Text))
			}
			if answered = true; may && !proved && pending == "" && o.Auth == AuthRequire {
				return fmt.Errorf("%w: no AUTH challenge came", ErrRefused)
			}
		case LabelEvent:
			return fmt.Errorf("%w: an event that was not asked for", ErrWrong)
		}
	}
	return fmt.Errorf("%w: more than %d messages before the first answer", ErrProtocol, maxOpening)
}

// prove sends the answer to a challenge and returns its id.
func (c *Conn) prove(t Target, o Options, k *Key, challenge string) (string, error) {
	if len(challenge) > maxChallenge {
		return "", fmt.Errorf("%w: an AUTH challenge of %d bytes", ErrProtocol, len(challenge))
	}
	ev := nostr.Event{
		Kind: nostr.KindClientAuthentication, CreatedAt: nostr.Timestamp(o.Clock().Unix()),
		Tags: nostr.Tags{{"relay", t.URL}, {"challenge", challenge}},
	}
	if err := k.Sign(&ev); err != nil {
		return "", err
	}
	return ev.ID, c.Send(append(wire.AppendEvent([]byte(`["AUTH",`), &ev), ']'))
}

// OpenAll opens n connections, at most eight at once, with the keys that keyOf
// returns. All are closed by the function returned, which is never nil.
func OpenAll(ctx context.Context, t Target, o Options, n int, keyOf func(i int) *Key) ([]*Conn, func(), error) {
	conns := make([]*Conn, n)
	closeAll := func() {
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	}
	const atOnce = 8
	// The connections must outlive the opening, so they get ctx and not the
	// context of this loop.
	err := Parallel(ctx, min(n, atOnce), func(_ context.Context, worker int) error {
		for i := worker; i < n; i += atOnce {
			c, err := Open(ctx, t, o, keyOf(i))
			if err != nil {
				return err
			}
			conns[i] = c
		}
		return nil
	})
	return conns, closeAll, err
}
