package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/client/memory"
	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
)

// noteIn is small, since every tool's arguments stand in each session's context:
// front matter takes the rest.
type noteIn struct {
	Text    string `json:"text" jsonschema:"may begin with front matter"`
	Expires string `json:"expires,omitempty" jsonschema:"30d, or a time"`
}

const describeNote = `Note what just happened, was said or decided, in mem/journal: an episode, not a fact.`

// note writes an episode. It takes no place among the calls that run: those that
// arrive together share one (placed).
func (s *writeTools) note(ctx context.Context, in noteIn) (writeOut, error) {
	if err := checkText(in.Text); err != nil {
		return writeOut{}, err
	}
	expires, err := memory.ParseFirst(in.Expires, s.m.clock())
	if err != nil {
		return writeOut{}, err
	}
	at, _ := ctx.Value(arrivalKey{}).(time.Time) // zero without one
	r, err := s.m.writer(ctx).AddNote(ctx, s.m.notes, write.Note{Text: in.Text, At: at, Expires: expires.At, Later: true}, guard(false, true))
	if err != nil {
		return writeOut{}, failedWrite(r.Slug, r, err)
	}
	s.m.calls.changed(ctx, r.Slug)
	return s.m.wrote(r.Slug, r), nil
}

// placed adds texts as one call among those that run.
type placed struct{ m *memories }

func (p placed) Add(ctx context.Context, texts []memory.NewText) ([]memory.Added, error) {
	return reading(ctx, p.m.calls, func(ctx context.Context) ([]memory.Added, error) { return p.m.session.Add(ctx, texts) })
}

// headerArrived has the moment at which a call was read. Calls are read one after the
// other and run side by side: this is how one knows its place. The header is of no
// request over HTTP, and what a client sends cannot set it.
const headerArrived = "Engramd-Arrived"

func arrived(now time.Time) *sdk.RequestExtra {
	return &sdk.RequestExtra{Header: http.Header{headerArrived: {write.Moment(now).Format(time.RFC3339Nano)}}}
}

type arrivalKey struct{}

// withArrival keeps when a call was read.
func withArrival(ctx context.Context, extra *sdk.RequestExtra) context.Context {
	if extra == nil {
		return ctx
	}
	at, err := time.Parse(time.RFC3339Nano, extra.Header.Get(headerArrived))
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, arrivalKey{}, at)
}

// waitingWrite is the answer of a write where episodes can be consolidated: each
// time that another consolidation.MicroBatch of them wait, it says so.
type waitingWrite struct {
	writeOut
	Waiting int    `json:"episodes_waiting,omitempty" jsonschema:"about how many wait to be consolidated; said now and then"`
	Next    string `json:"next,omitempty" jsonschema:"what to do about them, when it suits"`
}

// waiters know about how many episodes wait. All are counted at the first new one,
// and again when a batch may be full: what others write or consolidate meanwhile is
// found then.
type waiters struct {
	mu      sync.Mutex
	counted bool
	now     int // about
	said    int // at how many it was said last, in whole batches
}

// another takes a new episode in, and returns how many wait if that is worth a word.
func (w *waiters) another(count func() (int, error)) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now++
	if w.counted && w.now < w.said+consolidation.MicroBatch {
		return 0, nil
	}
	n, err := count()
	if err != nil {
		return 0, err
	}
	if !w.counted { // what waited before this process was said by another
		w.counted, w.said = true, max(0, n-1)/consolidation.MicroBatch*consolidation.MicroBatch
	}
	w.now, w.said = n, min(w.said, n/consolidation.MicroBatch*consolidation.MicroBatch)
	if n < w.said+consolidation.MicroBatch {
		return 0, nil
	}
	w.said = n / consolidation.MicroBatch * consolidation.MicroBatch
	return n, nil
}

// andWaiting adds to the answer of a write how many episodes wait. Failing to count
// them fails no write.
func andWaiting[In any](m *memories, do func(context.Context, In) (writeOut, error)) func(context.Context, In) (waitingWrite, error) {
	return func(ctx context.Context, in In) (waitingWrite, error) {
		out, err := do(ctx, in)
		if err != nil || !out.episode || m.session.Source() == nil {
			return waitingWrite{writeOut: out}, err
		}
		n, err := m.waiters.another(func() (n int, err error) {
			err = m.session.Source().Read(ctx, func(v recallanswer.View) error {
				n = consolidation.Waiting(v)
				return nil
			})
			return n, err
		})
		if err != nil {
			m.calls.log.Warn("it is not known how many episodes wait", "error", err)
		}
		more := waitingWrite{writeOut: out, Waiting: n}
		if n > 0 {
			more.Next = fmt.Sprintf("%d episodes wait to be made into knowledge: when it suits, call memory_more with action prepare, then mind_commit.", n)
		}
		return more, nil
	}
}

// maxCaller is the longest name of a caller that is stamped.
const maxCaller = 40

type callerKey struct{}

// withCaller keeps the name of the program that calls, which is stamped into
// what it writes. It is the program's word, in letters, digits and . _ -.
func withCaller(ctx context.Context, info *sdk.Implementation) context.Context {
	name := "mcp"
	if info != nil {
		name = strings.Trim(strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '-'
		}, info.Name[:min(len(info.Name), maxCaller)]), "-._")
	}
	if name == "" {
		name = "mcp"
	}
	return context.WithValue(ctx, callerKey{}, name)
}

// writer writes for the caller.
func (s *memories) writer(ctx context.Context) *write.Writer {
	source, _ := ctx.Value(callerKey{}).(string)
	session := s.session.ID(ctx)
	if session != "" {
		source += ":" + session
	}
	w := &write.Writer{Memory: s.session.Writes(), Source: source, Session: session, Clock: s.clock, Copied: s.copied, Read: s.external.shown()}
	if s.session.Source() != nil {
		w.Holds = func(ctx context.Context, slug string) []string {
			return recallanswer.Holds(ctx, s.session.Source(), slug)
		}
	}
	if at := s.session.Where(ctx); at.Linked {
		w.Project = at.Project
	}
	return w
}

// copied finds the external memory that a text was taken from: among those that
// this process has seen, then where the caller of the server looks.
func (s *memories) copied(text string) (string, bool) {
	if from, ok := s.external.copied(text); ok {
		return from, ok
	}
	return s.session.Copied(text)
}
