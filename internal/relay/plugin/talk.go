package plugin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	window    = 64         // questions under way at once
	backlog   = 4 * window // of those, and of such whose writers have given up
	maxBytes  = 16 << 20   // of questions that wait for an answer; one is always taken
	maxAnswer = 64 << 10   // bytes of a line
	maxNoise  = 1000       // lines that are no answers, between two that are
	startTime = 10 * time.Second
)

// talk is the conversation with one process.
type talk struct {
	child   *child
	timeout time.Duration
	started time.Time
	lines   chan []byte
	changed chan struct{} // wakes the watch
	dead    chan struct{} // closed with err

	mu       sync.Mutex
	waiting  map[string][]*ask // by the id of their events, oldest first
	queue    []*ask            // all of them, oldest first; the answered ones are taken off when they lead
	bytes    int               // of the lines of those without an answer
	since    time.Time         // when the one that leads came to
	answered bool              // ever
	noise    int
	err      error
}

// ask is one question that is under way.
type ask struct {
	id     string
	size   int // of its line
	done   bool
	answer chan answer // of one
}

func newTalk(c *child, timeout time.Duration) *talk {
	return &talk{
		child: c, timeout: timeout, started: time.Now(), lines: make(chan []byte, backlog),
		changed: make(chan struct{}, 1), dead: make(chan struct{}), waiting: make(map[string][]*ask),
	}
}

// run converses until the process ends or has to, and returns why.
func (t *talk) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { t.fail(ctx.Err()) })
	defer stop()
	var parts sync.WaitGroup
	parts.Go(t.write)
	parts.Go(t.watch)
	t.fail(t.read())
	parts.Wait()
	return t.err
}

// fail ends the conversation: every question under way is answered with the
// error. Only the first call counts.
func (t *talk) fail(err error) {
	t.mu.Lock()
	if t.err == nil {
		t.err = err
		close(t.dead)
	}
	t.mu.Unlock()
	t.child.end()
}

// Errors of a question.
var (
	errBusy = errors.New("the write policy program has too much to do")
	errSlow = errors.New("the write policy program did not answer in time")
)

// ask asks one question and waits for its answer.
func (t *talk) ask(ctx context.Context, id string, line []byte) (answer, error) {
	a, err := t.put(id, line)
	if err != nil {
		return answer{}, err
	}
	timer := time.NewTimer(t.timeout)
	defer timer.Stop()
	for {
		select {
		case got := <-a.answer:
			return got, nil
		case <-t.dead:
			select {
			case got := <-a.answer:
				return got, nil
			default:
				return answer{}, t.err
			}
		case <-ctx.Done():
			return answer{}, errBusy
		case <-timer.C:
			// One that answers is slow only with those before this one, and the
			// watch looks after it. One that has not said anything yet may be
			// starting still, but its writers are not kept waiting for that.
			if !t.speaks() {
				return answer{}, errSlow
			}
		}
	}
}

func (t *talk) put(id string, line []byte) (*ask, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.err != nil:
		return nil, t.err
	case len(t.queue) >= backlog, t.bytes > 0 && t.bytes+len(line) > maxBytes:
		return nil, errBusy
	}
	select {
	case t.lines <- line:
	default:
		return nil, errBusy
	}
	a := &ask{id: id, size: len(line), answer: make(chan answer, 1)}
	if len(t.queue) == 0 {
		t.since = time.Now()
	}
	t.queue = append(t.queue, a)
	t.bytes += a.size
	t.waiting[id] = append(t.waiting[id], a)
	t.wake()
	return a, nil
}

func (t *talk) speaks() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answered
}

func (t *talk) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// write gives the process its lines, as many with one call as wait.
func (t *talk) write() {
	out := bufio.NewWriterSize(t.child.stdin, 64<<10)
	for {
		select {
		case line := <-t.lines:
			_, err := out.Write(line)
			if err == nil && len(t.lines) == 0 {
				err = out.Flush()
			}
			if err != nil {
				t.fail(fmt.Errorf("it takes no events: %w", err))
				return
			}
		case <-t.dead:
			return
		}
	}
}

// read takes answers until there are no more, or one is wrong.
func (t *talk) read() error {
	in := bufio.NewReaderSize(t.child.stdout, maxAnswer)
	for {
		line, err := in.ReadSlice('\n')
		if err == nil {
			err = t.take(bytes.TrimSpace(line))
		}
		switch {
		case err == nil:
		case errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("it printed a line of more than %d bytes", maxAnswer)
		case errors.Is(err, io.EOF):
			return errors.New("it ended, or closed its output")
		default:
			return err
		}
	}
}

// take is one line of the process.
func (t *talk) take(line []byte) error {
	got, err := parseAnswer(line)
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(err, errNoise) {
		if t.noise++; t.noise > maxNoise {
			return fmt.Errorf("it printed more than %d lines that are no answers", maxNoise)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("it printed %w", err)
	}
	asked := t.waiting[got.ID]
	if len(asked) == 0 {
		return errors.New("it answered a question that was not asked")
	}
	a := asked[0]
	if len(asked) == 1 {
		delete(t.waiting, got.ID)
	} else {
		t.waiting[got.ID] = asked[1:]
	}
	a.done, t.answered, t.noise = true, true, 0
	t.bytes -= a.size
	a.answer <- got
	if t.queue[0] != a {
		return nil
	}
	for len(t.queue) > 0 && t.queue[0].done {
		t.queue[0] = nil
		t.queue = t.queue[1:]
	}
	t.since = time.Now()
	return nil
}

// watch ends a process that leaves the question it was asked first without an
// answer for too long. That one leads, so that a program that takes its time
// has the whole of it for each event, however many wait.
func (t *talk) watch() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		left, waits := t.left()
		switch {
		case waits && left <= 0:
			t.fail(errSlow)
			return
		case waits:
			timer.Reset(left)
		default:
			timer.Reset(time.Hour)
		}
		select {
		case <-timer.C:
		case <-t.changed:
		case <-t.dead:
			return
		}
	}
}

// left returns how much time the process has for the question that leads, if
// there is one. An interpreter may need a while before its first answer.
func (t *talk) left() (left time.Duration, waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return 0, false
	}
	until := t.since.Add(t.timeout)
	if ready := t.started.Add(startTime); !t.answered && until.Before(ready) {
		until = ready
	}
	return time.Until(until), true
}
