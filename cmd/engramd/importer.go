package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip40"

	"engramd/internal/gate"
	"engramd/internal/policy"
	"engramd/internal/relay"
	"engramd/internal/schnorr/many"
	"engramd/internal/store"
	"engramd/internal/store/sqlite"
	"engramd/internal/wire"
)

// importer stores events from JSON lines. Shapes and signatures are checked by
// all cores ahead of the store; events are handed to the store, and reported,
// in the order of their lines.
type importer struct {
	store *sqlite.Store
	judge policy.Hook // what no way in may store, whoever brings it

	signatures wire.Verifier
}

// newJudge makes the rules that hold for everybody: malformed events, foreign
// requests to vanish, expired ones and those from the future stay out, whoever
// brings them. Lists, bans and rates do not hold for the operator.
func newJudge(names relay.Names, o policy.Options) (policy.Hook, error) {
	p, err := policy.New(policy.Options{RelayNames: names, Future: o.Future, Reader: relay.ReaderFrom, Import: true})
	if err != nil {
		return nil, err
	}
	// The operator delivers each event as its author would.
	return func(ctx context.Context, ev *nostr.Event) (bool, string) {
		return p.RejectEvent(relay.WithReader(ctx, gate.NewReader(ev.PubKey)), ev)
	}, nil
}

// newImporter makes an importer under the rules of newJudge.
func newImporter(s *sqlite.Store, judge policy.Hook) *importer {
	return &importer{store: s, judge: judge}
}

// tally counts what became of the lines of an import.
type tally struct {
	Lines    int64 `json:"lines"` // read and decided, empty ones not counted
	Stored   int64 `json:"stored"`
	Replaced int64 `json:"replaced"` // stored, and superseded an older version
	Known    int64 `json:"known"`    // there already
	Older    int64 `json:"older"`    // a newer version is there
	Deleted  int64 `json:"deleted"`  // deleted by their authors before
	Skipped  int64 `json:"skipped"`  // wrong in themselves

	Held int64 `json:"held_back,omitempty"` // of agents that were not replaced
}

func (t tally) String() string {
	text := fmt.Sprintf("%d lines: %d stored, %d replaced older versions, %d already there, %d older than what is there, %d deleted before, %d skipped",
		t.Lines, t.Stored, t.Replaced, t.Known, t.Older, t.Deleted, t.Skipped)
	if t.Held > 0 {
		text += fmt.Sprintf(", %d held back", t.Held)
	}
	return text
}

// skipped is a line that was not stored and why; the reason names no key, id
// or content.
type skipped struct {
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
}

// progress is told what an import does, by one goroutine.
type progress interface {
	skip(s skipped) error
	tick(t tally) error
}

const (
	maxLine    = 8 << 20 // bytes of one line; the largest event is far below
	batchLines = 2048    // signatures are checked together, the more the cheaper
	batchBytes = 2 << 20 // but for the last line
)

// batch is some consecutive lines on their way through a worker.
type batch struct {
	items []item
	done  chan struct{} // closed when every item is parsed
}

// item is one line: its event, or why it is not stored.
type item struct {
	line    int64
	text    []byte
	event   *nostr.Event
	refusal string
	author  string // of a refused one, as far as it says; empty if it does not
	over    bool   // it is refused only because its time (NIP-40) is over
	pending store.Pending
}

// run reads lines until the end, an error, or the end of ctx, and returns what
// became of those that were decided. What was begun is always waited for.
func (im *importer) run(ctx context.Context, in io.Reader, p progress) (tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return im.put(ctx, cancel, im.parsed(ctx, cancel, in), p)
}

// parsed starts to read and parse, and gives the batches in order. An error ends
// ctx before the channel is closed.
func (im *importer) parsed(ctx context.Context, cancel context.CancelCauseFunc, in io.Reader) <-chan *batch {
	workers := runtime.GOMAXPROCS(0)
	work, ordered := make(chan *batch, workers), make(chan *batch, 2*workers)
	for range workers {
		go im.parseAll(ctx, work)
	}
	go func() {
		defer close(work)
		defer close(ordered)
		if err := readLines(ctx, in, work, ordered); err != nil {
			cancel(err)
		}
	}()
	return ordered
}

// put stores what batches hold, in order.
func (im *importer) put(ctx context.Context, cancel context.CancelCauseFunc, ordered <-chan *batch, p progress) (tally, error) {
	begun := make(chan item, 8192)
	go func() {
		defer close(begun)
		if err := im.begin(ctx, ordered, begun); err != nil {
			cancel(err)
		}
	}()
	t, err := collect(begun, p, func(err error) { cancel(err) })
	if err == nil {
		err = context.Cause(ctx)
	}
	return t, err
}

// readLines cuts the input into batches and hands each to the workers and, in
// order, to begin.
func readLines(ctx context.Context, in io.Reader, work, ordered chan<- *batch) error {
	r := bufio.NewReaderSize(in, batchBytes)
	b, size := &batch{done: make(chan struct{})}, 0
	flush := func() bool {
		if len(b.items) == 0 {
			return true
		}
		for _, ch := range []chan<- *batch{work, ordered} {
			select {
			case ch <- b:
			case <-ctx.Done():
				return false
			}
		}
		b, size = &batch{done: make(chan struct{})}, 0
		return true
	}
	for line := int64(1); ; line++ {
		text, tooLong, err := readLine(r)
		if tooLong {
			b.items = append(b.items, item{line: line, refusal: fmt.Sprintf("invalid: the line is longer than %d bytes", maxLine)})
		} else if len(bytes.TrimSpace(text)) > 0 {
			b.items = append(b.items, item{line: line, text: text})
			size += len(text)
		}
		if len(b.items) >= batchLines || size >= batchBytes || err != nil || r.Buffered() == 0 {
			if !flush() {
				return nil // ctx says why
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: read: %w", line, err)
		}
	}
}

// readLine returns one line without its end. A line over maxLine is read to its
// end and dropped.
func readLine(r *bufio.Reader) (text []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(text)+len(part) > maxLine {
			tooLong, text = true, nil
		}
		if !tooLong {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(text, "\r\n"), tooLong, err
		}
	}
}

// parseAll is a worker: shape, id, signature and rules of what comes.
func (im *importer) parseAll(ctx context.Context, work <-chan *batch) {
	for b := range work {
		if ctx.Err() == nil {
			im.parse(ctx, b)
		}
		close(b.done)
	}
}

// parse decides on the lines of a batch as far as that can be done without the
// store.
func (im *importer) parse(ctx context.Context, b *batch) {
	var of []*item
	var events []*nostr.Event
	for i := range b.items {
		it := &b.items[i]
		if it.text == nil {
			continue
		}
		ev, err := wire.ParseEvent(it.text)
		if err != nil {
			it.refuse(err)
			continue
		}
		of, events = append(of, it), append(events, ev)
	}
	for i, err := range im.signatures.VerifyAll(events, many.Hold) {
		if err != nil {
			of[i].refuse(err)
			continue
		}
		of[i].text = nil
		im.admit(ctx, of[i], events[i])
	}
}

// refuse decides on a line that holds no event, or one that does not verify.
func (it *item) refuse(err error) {
	it.refusal, it.author = "invalid: "+err.Error(), claimedAuthor(it.text)
	it.text = nil
}

// admit puts the rules to an event that verified.
func (im *importer) admit(ctx context.Context, it *item, ev *nostr.Event) {
	it.author = ev.PubKey
	if nostr.IsEphemeralKind(ev.Kind) {
		it.refusal = "invalid: ephemeral events are not stored"
		return
	}
	if reject, reason := im.judge(ctx, ev); reject {
		ends := nip40.GetExpiration(ev.Tags)
		it.refusal, it.over = reason, ends > 0 && ends <= nostr.Now()
		return
	}
	it.event = ev
}

// claimedAuthor is whose a line says to be that did not verify; "" if it does not
// say.
func claimedAuthor(text []byte) string {
	var says struct {
		PubKey string `json:"pubkey"`
	}
	if json.Unmarshal(text, &says) != nil || !nostr.IsValid32ByteHex(says.PubKey) {
		return ""
	}
	return says.PubKey
}

// begin hands the events to the store, in order.
func (im *importer) begin(ctx context.Context, ordered <-chan *batch, begun chan<- item) error {
	for {
		var b *batch
		select {
		case b = <-ordered:
		case <-ctx.Done(): // the input may never end
		}
		if b == nil {
			return nil
		}
		<-b.done
		for _, it := range b.items {
			if ctx.Err() != nil {
				return nil
			}
			if it.event != nil {
				var err error
				if it.pending, err = im.store.Begin(ctx, it.event, store.PutOptions{Import: true}); err != nil {
					return fmt.Errorf("line %d: %w", it.line, err)
				}
			}
			begun <- it // collect takes until begun is closed
		}
	}
}

// collect waits for the store's answers in order and counts them. It stops
// everything at the first failure of the store, and still waits for what was
// begun.
func collect(begun <-chan item, p progress, stop func(error)) (tally, error) {
	var t tally
	var first error
	fail := func(err error) {
		if err != nil && first == nil {
			first = err
			stop(err)
		}
	}
	for it := range begun {
		reason := it.refusal
		if it.pending != nil {
			r := it.pending.Wait()
			if r.Outcome == store.Failed {
				fail(fmt.Errorf("line %d: %w", it.line, r.Err))
				continue
			}
			reason = t.count(r)
		} else {
			t.Skipped++
		}
		t.Lines++
		if reason != "" {
			fail(p.skip(skipped{it.line, reason}))
		}
		fail(p.tick(t))
	}
	return t, first
}

// count adds an outcome and returns why the event was skipped, if it was.
func (t *tally) count(r store.Result) string {
	switch r.Outcome {
	case store.Stored:
		t.Stored++
	case store.Replaced:
		t.Replaced++
	case store.Duplicate:
		t.Known++
	case store.Stale:
		t.Older++
	case store.Deleted:
		t.Deleted++
		return r.Message
	default:
		t.Skipped++
		return r.Message
	}
	return ""
}
