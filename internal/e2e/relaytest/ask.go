package relaytest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Answer is what a REQ brought until EOSE or CLOSED.
type Answer struct {
	Sub    string
	Events []*nostr.Event
	Hints  []string // what follows the sub id in EOSE (NIP-67)
	Closed string   // text of CLOSED; empty when EOSE came
	EOSE   bool
	First  time.Time // when the first frame of the answer came
	Last   time.Time
}

// IDs returns the ids in the order in which they came.
func (a Answer) IDs() []string {
	ids := make([]string, len(a.Events))
	for i, ev := range a.Events {
		ids[i] = ev.ID
	}
	return ids
}

// Subscribe sends a REQ, collects what is stored and leaves the subscription
// open. Filters are anything that encodes to a JSON object, nostr.Filter
// included; use Filter for ones that nostr.Filter cannot say.
func (c *Client) Subscribe(sub string, filters ...any) (Answer, error) {
	if err := c.Send("REQ", append([]any{sub}, filters...)...); err != nil {
		return Answer{}, err
	}
	return c.Stored(sub)
}

// Stored collects the answer to a REQ that has been sent.
func (c *Client) Stored(sub string) (Answer, error) {
	a := Answer{Sub: sub}
	match := ForSub(sub)
	for {
		f, err := c.Wait(match)
		if err != nil {
			return a, fmt.Errorf("REQ %s, after %d events: %w", sub, len(a.Events), err)
		}
		if a.First.IsZero() {
			a.First = f.At
		}
		a.Last = f.At
		switch f.Label {
		case "EVENT":
			ev := f.Event()
			if ev == nil {
				return a, fmt.Errorf("not an event: %s", f.Raw)
			}
			a.Events = append(a.Events, ev)
		case "EOSE":
			a.EOSE = true
			if len(f.Args) > 1 {
				if err := json.Unmarshal(f.Args[1], &a.Hints); err != nil {
					return a, fmt.Errorf("hints of EOSE: %s: %w", f.Raw, err)
				}
			}
			return a, nil
		case "CLOSED":
			a.Closed = f.Text(1)
			if a.Closed == "" {
				return a, fmt.Errorf("CLOSED without a text: %s", f.Raw)
			}
			return a, nil
		}
	}
}

// Query is Subscribe and CLOSE.
func (c *Client) Query(filters ...any) (Answer, error) {
	a, err := c.Subscribe(c.NextSub(), filters...)
	if err != nil || !a.EOSE {
		return a, err
	}
	return a, c.Send("CLOSE", a.Sub)
}

// Count asks for a number. closed is the text of CLOSED when it was refused.
func (c *Client) Count(filters ...any) (n int64, closed string, err error) {
	sub := c.NextSub()
	if err := c.Send("COUNT", append([]any{sub}, filters...)...); err != nil {
		return 0, "", err
	}
	f, err := c.Wait(ForSub(sub))
	if err != nil {
		return 0, "", fmt.Errorf("COUNT %s: %w", sub, err)
	}
	if f.Label == "CLOSED" {
		return 0, f.Text(1), nil
	}
	if n = f.Count(); f.Label != "COUNT" || n < 0 {
		return 0, "", fmt.Errorf("not an answer to COUNT: %s", f.Raw)
	}
	return n, "", nil
}

// Live takes the next event of an open subscription.
func (c *Client) Live(sub string) (*nostr.Event, error) {
	f, err := c.Wait(ForSub(sub))
	if err != nil {
		return nil, err
	}
	ev := f.Event()
	if ev == nil {
		return nil, fmt.Errorf("not an event: %s", f.Raw)
	}
	return ev, nil
}

// Barrier returns when the relay has handled everything that this connection
// sent before: frames are answered in order. It says nothing about live events
// of other connections; publish a marker and wait for that.
func (c *Client) Barrier() error {
	_, _, err := c.Count(Filter{"ids": []string{nobody}})
	return err
}

const nobody = "0000000000000000000000000000000000000000000000000000000000000000"

// Filter is a filter by its JSON members, wrong ones too.
type Filter map[string]any
