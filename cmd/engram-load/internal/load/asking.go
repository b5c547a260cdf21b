package load

import (
	"bytes"
	"fmt"
	"time"
)

// question is a REQ with the answer that it must get.
type question struct {
	ask   []byte // the whole REQ, with the subscription's name askSub
	ids   []byte // the answer's ids in hex, 64 bytes each, in order
	times []int64
}

const (
	askSub   = "q"
	closeAsk = `["CLOSE","` + askSub + `"]`
)

// newQuestion returns a REQ with one filter, and the events that it must bring,
// in that order.
func newQuestion(filter string, want []Entry) question {
	q := question{ask: fmt.Appendf(nil, `["REQ","%s",%s]`, askSub, filter)}
	for _, e := range want {
		q.ids = append(q.ids, e.ID.Hex()...)
		q.times = append(q.times, e.CreatedAt)
	}
	return q
}

func (q *question) len() int { return len(q.times) }

func (q *question) id(i int) []byte { return q.ids[64*i : 64*i+64] }

// asker asks one question after the other on a connection.
type asker struct {
	c    *Conn
	open bool // the subscription of the last question
	// thorough makes it check each event as a whole, id and signature too; it is
	// for the warm-up.
	thorough bool
}

// ask asks, reads the answer, and returns how long that took until EOSE. The
// subscription before it is closed in the same write.
func (a *asker) ask(q *question) (time.Duration, error) {
	messages := [2][]byte{[]byte(closeAsk), q.ask}
	ask := messages[:]
	if !a.open {
		ask = ask[1:]
	}
	start := time.Now()
	if err := a.c.Send(ask...); err != nil {
		return 0, err
	}
	a.open = true
	got, others, parse := 0, 0, SkimMessage
	if a.thorough {
		parse = ParseMessage
	}
	for {
		b, err := a.c.Read()
		if err != nil {
			return 0, fmt.Errorf("after %d of %d events: %w", got, q.len(), err)
		}
		m, err := parse(b)
		if err != nil {
			return 0, err
		}
		if string(m.Sub) != askSub || m.Label == LabelCount {
			if others++; others > maxOthers || m.Label == LabelEvent {
				return 0, fmt.Errorf("%w: %s", ErrWrong, printable(b))
			}
			continue
		}
		switch m.Label {
		case LabelEvent:
			if err := a.check(q, got, m); err != nil {
				return 0, err
			}
			got++
		case LabelEOSE:
			if got != q.len() {
				return 0, fmt.Errorf("%w: %d events of %d; the first that is missing is %s", ErrWrong, got, q.len(), q.id(got))
			}
			return time.Since(start), nil
		case LabelClosed:
			return 0, fmt.Errorf("%w: a question: %s", ErrRefused, printable(m.Text))
		}
	}
}

// check compares an event with the one that must stand at place got.
func (a *asker) check(q *question, got int, m Message) error {
	switch {
	case got >= q.len():
		return fmt.Errorf("%w: more than %d events: %s", ErrWrong, q.len(), printable(m.ID))
	case !bytes.Equal(m.ID, q.id(got)):
		return fmt.Errorf("%w: event %d is %s and must be %s (%s)", ErrWrong, got+1, printable(m.ID), q.id(got), q.misplaced(got, m.ID))
	case m.CreatedAt != q.times[got]:
		return fmt.Errorf("%w: event %s is of %d and must be of %d", ErrWrong, m.ID, m.CreatedAt, q.times[got])
	case a.thorough:
		return verifyEvent(m)
	}
	return nil
}

// misplaced reports what is wrong with an event in another's place.
func (q *question) misplaced(got int, id []byte) string {
	for i := range q.len() {
		switch {
		case !bytes.Equal(id, q.id(i)):
		case i < got:
			return "it came before"
		default:
			return "the order is wrong, or events are missing"
		}
	}
	return "it does not belong to the answer"
}
