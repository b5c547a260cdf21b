package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// lane is what one connection publishes: whole frames that are masked already,
// one after the other, and the ids that its OKs must name.
type lane struct {
	frames []byte
	ends   []int  // of the frames
	ids    []byte // 64 bytes each
}

// lanes deals the events from to to-1 of a set to n connections in turn.
func (s *Set) lanes(o Options, from, to, n int) ([]*lane, error) {
	all := make([]*lane, n)
	for i := range all {
		all[i] = &lane{ends: make([]int, 0, (to-from)/n+1)}
	}
	for i := from; i < to; i++ {
		if err := all[i%n].add(o, s.JSON(i)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// add appends an event in the layout of wire.AppendEvent.
func (l *lane) add(o Options, event []byte) error {
	var mask [4]byte
	if err := o.random(mask[:]); err != nil {
		return err
	}
	l.frames = appendFrame(l.frames, opText, fmt.Appendf(nil, `["EVENT",%s]`, event), mask)
	l.ends = append(l.ends, len(l.frames))
	l.ids = append(l.ids, eventID(event)...)
	return nil
}

func (l *lane) len() int { return len(l.ends) }

func (l *lane) id(i int) []byte { return l.ids[64*i : 64*i+64] }

// slice returns the frames from to to-1.
func (l *lane) slice(from, to int) []byte {
	start := 0
	if from > 0 {
		start = l.ends[from-1]
	}
	return l.frames[start:l.ends[to-1]]
}

// publish sends the frames from to to-1 with at most window of them
// unanswered, and waits until each has its OK true. It returns for each how
// long that took from the write that sent it first. What the relay refuses for
// its rate (rate-limited:) is sent again after a pause.
//
// It reads and writes in turns, without a second goroutine: what window frames
// are answered with fits into the buffers of the sockets.
func (l *lane) publish(c *Conn, from, to, window int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, to-from)
	sentAt := make([]time.Time, window) // of frame i at i mod window
	answered := make([]bool, window)
	oldest, sent, others := from, from, 0
	var late limited
	for oldest < to {
		if len(late.frames) > 0 && len(late.frames) == sent-len(took)-from {
			if err := late.again(c, l); err != nil {
				return nil, l.unanswered(oldest, sent, err)
			}
		}
		// Frames go out together once a good part of the window is free, as they do
		// from a client that is busy; answers that are here already are read first.
		if free := window - (sent - oldest); sent < to && !c.Buffered() && (free >= (window+3)/4 || sent == oldest) {
			upTo := min(sent+free, to)
			now := time.Now()
			for i := sent; i < upTo; i++ {
				sentAt[i%window], answered[i%window] = now, false
			}
			if err := c.SendFrames(l.slice(sent, upTo)); err != nil {
				return nil, l.unanswered(oldest, sent, err)
			}
			sent = upTo
		}
		b, err := c.Read()
		if err != nil {
			return nil, l.unanswered(oldest, sent, err)
		}
		m, err := ParseMessage(b)
		if err != nil {
			return nil, err
		}
		if m.Label != LabelOK {
			if others++; others > maxOthers {
				return nil, fmt.Errorf("%w: more than %d messages that answer nothing", ErrProtocol, maxOthers)
			}
			continue
		}
		i, err := l.answers(m, oldest, sent, answered)
		if errors.Is(err, errLimited) {
			late.frames = append(late.frames, i)
			continue
		}
		if err != nil {
			return nil, err
		}
		late.pause = 0
		answered[i%window] = true
		took = append(took, time.Since(sentAt[i%window]))
		for oldest < sent && answered[oldest%window] {
			oldest++
		}
	}
	return took, nil
}

// errLimited means that a frame is to be sent again.
var errLimited = errors.New("over the relay's rate")

// limited are the frames of a window that the relay refused for its rate. They
// are sent again when nothing else is on its way.
type limited struct {
	frames []int
	pause  time.Duration // before they were sent again last; 0 after one was taken
}

// How long frames over the rate wait, first and at most.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = 5 * time.Second
)

func (r *limited) again(c *Conn, l *lane) error {
	r.pause = min(max(2*r.pause, firstPause), mostPause)
	timer := time.NewTimer(r.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
	for _, i := range r.frames {
		if err := c.SendFrames(l.slice(i, i+1)); err != nil {
			return err
		}
	}
	r.frames = r.frames[:0]
	return nil
}

// maxOthers bounds notices and the like on one connection.
const maxOthers = 1000

// answers finds which frame an OK is for: one of oldest to sent-1 that has no
// answer. As a rule it is the oldest.
func (l *lane) answers(m Message, oldest, sent int, answered []bool) (int, error) {
	for i := oldest; i < sent; i++ {
		if !bytes.Equal(m.ID, l.id(i)) {
			continue
		}
		if answered[i%len(answered)] {
			return 0, fmt.Errorf("%w: a second OK to %s", ErrWrong, m.ID)
		}
		if !m.OK && bytes.HasPrefix(m.Text, []byte(`"rate-limited:`)) {
			return i, errLimited
		}
		if !m.OK {
			return 0, fmt.Errorf("%w: event %s: %s", ErrRefused, m.ID, printable(m.Text))
		}
		if bytes.HasPrefix(m.Text, []byte(`"duplicate:`)) {
			return 0, fmt.Errorf("%w: event %s: %s", ErrHeld, m.ID, printable(m.Text))
		}
		return i, nil
	}
	return 0, fmt.Errorf("%w: an OK to %s, which waits for none", ErrWrong, printable(m.ID))
}

func (l *lane) unanswered(oldest, sent int, err error) error {
	if oldest == sent {
		return err
	}
	return fmt.Errorf("no OK to event %s: %w", l.id(oldest), err)
}
