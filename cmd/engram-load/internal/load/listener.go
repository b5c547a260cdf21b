package load

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	endSub      = "end"
	endQuestion = `["REQ","` + endSub + `",{"ids":["0000000000000000000000000000000000000000000000000000000000000000"],"limit":1}]`
	// quiet is how long listeners go on when all that was expected has come: long
	// enough for a repeated or a foreign delivery of a relay that looks for news
	// ten times a second only.
	quiet = 300 * time.Millisecond
	// missing is how long a delivery is waited for when no other comes.
	missing = 10 * time.Second
)

// subscription is one open question.
type subscription struct {
	id, filter string
}

// listener is a connection with subscriptions. At most one of them matches what
// is published: it must get each event once, and the others nothing.
type listener struct {
	conn     *Conn
	subs     []subscription
	match    string // id of the subscription that matches; empty if none does
	receipts *receipts
}

// subscribe opens the subscriptions and waits until the relay says that each
// is. Nothing may be stored that they ask for.
func (l *listener) subscribe() error {
	waits := make(map[string]bool, len(l.subs))
	messages := make([][]byte, 0, len(l.subs))
	for _, s := range l.subs {
		waits[s.id] = true
		messages = append(messages, []byte(`["REQ","`+s.id+`",`+s.filter+`]`))
	}
	// The answers to so many questions are small enough to wait in the socket.
	for len(messages) > 0 {
		n := min(len(messages), MaxPipeline)
		if err := l.conn.Send(messages[:n]...); err != nil {
			return err
		}
		messages = messages[n:]
	}
	for len(waits) > 0 {
		m, _, err := l.next()
		if err != nil {
			return err
		}
		switch {
		case m.Label == LabelEvent:
			return fmt.Errorf("%w: a stored event where none can be", ErrWrong)
		case m.Label == LabelEOSE && waits[string(m.Sub)]:
			delete(waits, string(m.Sub))
		}
	}
	return nil
}

// next returns the next message that is not about the connection, and when it
// had come. A CLOSED is an error.
func (l *listener) next() (m Message, at time.Time, err error) {
	for {
		b, err := l.conn.Read()
		at = time.Now()
		if err != nil {
			return m, at, err
		}
		if m, err = ParseMessage(b); err != nil {
			return m, at, err
		}
		switch m.Label {
		case LabelClosed:
			if string(m.Sub) != probeSub { // some relays confirm the CLOSE of what opened the connection
				return m, at, fmt.Errorf("%w: a subscription: %s", ErrRefused, printable(m.Text))
			}
		case LabelEvent, LabelEOSE, LabelOK, LabelCount:
			return m, at, nil
		}
	}
}

// listen takes deliveries until the answer to the last question comes.
func (l *listener) listen() error {
	match := []byte(l.match)
	for {
		m, at, err := l.next()
		if err != nil {
			return err
		}
		switch {
		case m.Label == LabelEOSE && string(m.Sub) == endSub:
			return nil
		case m.Label != LabelEvent:
			return fmt.Errorf("%w: an answer to what was not asked", ErrWrong)
		case len(match) == 0 || !bytes.Equal(m.Sub, match):
			return fmt.Errorf("%w: a delivery to a subscription that does not match", ErrWrong)
		}
		if err := l.receipts.take(m, at); err != nil {
			return err
		}
	}
}

// audience is all listeners, each read by a goroutine of its own. When one
// fails, the context that all connections were dialled with ends.
type audience struct {
	ledger    *ledger
	listeners []*listener
	quiet     time.Duration
	missing   time.Duration
	end       context.CancelCauseFunc
	reading   sync.WaitGroup
}

// subscribe opens all subscriptions, a few connections at once.
func (a *audience) subscribe(ctx context.Context) error {
	const atOnce = 8
	return Parallel(ctx, min(len(a.listeners), atOnce), func(ctx context.Context, worker int) error {
		for i := worker; i < len(a.listeners); i += atOnce {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := a.listeners[i].subscribe(); err != nil {
				return fmt.Errorf("subscribe: %w", err)
			}
		}
		return nil
	})
}

// listen starts the listeners.
func (a *audience) listen() {
	for _, l := range a.listeners {
		a.reading.Go(func() {
			if err := l.listen(); err != nil {
				a.end(fmt.Errorf("listen: %w", err))
			}
		})
	}
}

// await waits until the goal that was set with ledger.expect is reached.
func (a *audience) await(ctx context.Context) error {
	for before := int64(-1); ; {
		timer := time.NewTimer(a.missing)
		select {
		case <-a.ledger.reached:
			timer.Stop()
			return nil
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
		now, goal := a.ledger.delivered.Load(), a.ledger.goal.Load()
		if now == before {
			return fmt.Errorf("%w: %d of %d deliveries did not come", ErrWrong, goal-now, goal)
		}
		before = now
	}
}

// finish waits whether more comes than should, and ends the listeners with a
// question whose answer comes behind everything else.
func (a *audience) finish(ctx context.Context) error {
	timer := time.NewTimer(a.quiet)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, l := range a.listeners {
		if err := l.conn.Send([]byte(endQuestion)); err != nil {
			return err
		}
	}
	a.reading.Wait()
	return context.Cause(ctx)
}
