package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/vectors"
	"engramd/internal/memory/vectors/embed"
)

// Question is what is asked of the memory.
type Question struct {
	answer.Query
	Now time.Time
	// Unasked asks only for what may be told to an agent that did not ask
	// (answer.Tell), Intentions for intentions alone. Explain has what was left out
	// named.
	Unasked, Intentions, Explain bool
	// Also is shown the memory with what was found in it; nil is not.
	Also func(v answer.View, found *Recalled)
	// Intend is what intentions are compared with; nil looks for none. Its Now is
	// the question's.
	Intend *intentions.Ask
}

// Recalled is what was found.
type Recalled struct {
	answer.Answer
	Left   []answer.Left     // with Explain
	Coming []intentions.Item // with Intend
	// NoMeaning and NoOrder are why a model was of no use; nil where it was, and
	// where there is none.
	NoMeaning, NoOrder error
}

// Recall answers questions, which is done here alone: the models are asked, and the
// memory is looked through for what is remembered and what is intended. A face counts
// the hits once it has told them.
type Recall struct {
	// Near compares meaning, and Rerank orders the best of Copy; nil leaves that
	// out. Matrix compares meaning by the built-in matrix where there is no Near.
	Near   Near
	Matrix bool
	Rerank answer.Scorer
	Copy   answer.Source
	// Read calls do with the memory at this moment. do returns how much of what was
	// asked for it found for certain, and may be called again.
	Read func(ctx context.Context, do func(answer.View) (found int, err error)) error
}

// Answer answers one question. The error is a *answer.Mistake of a query that makes
// no sense, and that of Read: then only NoMeaning and NoOrder are told.
func (r Recall) Answer(ctx context.Context, q Question) (out Recalled, err error) {
	texts := []string{q.Text}
	if q.Unasked {
		texts = recall.Parts(q.Text)
	}
	switch {
	case q.Intentions:
	case r.Near != nil:
		q.Near, out.NoMeaning = r.Near(ctx, texts...)
	case r.Matrix:
		q.Matrix = texts
	}
	if r.Rerank != nil && r.Copy != nil {
		var mistake *answer.Mistake
		if out.NoOrder = answer.Rerank(ctx, r.Copy, &q.Query, q.Now, r.Rerank); errors.As(out.NoOrder, &mistake) {
			return Recalled{NoMeaning: out.NoMeaning}, out.NoOrder
		}
	}
	err = r.Read(ctx, func(v answer.View) (int, error) { return out.look(v, q) })
	return out, err
}

// look is the part of a recall that waits for nothing.
func (out *Recalled) look(v answer.View, q Question) (found int, err error) {
	switch {
	case q.Unasked:
		out.Answer, err = answer.Tell(v, q.Query, q.Now)
	case !q.Intentions:
		out.Answer, err = answer.Recall(v, q.Query, q.Now)
	}
	if err != nil {
		return 0, err
	}
	if q.Explain {
		if out.Left, err = answer.Explain(v, q.Query, q.Now); err != nil {
			return 0, err
		}
	}
	if q.Intend != nil {
		q.Intend.Now = q.Now
		out.Coming = intentions.Look(v, *q.Intend)
	}
	if q.Also != nil {
		q.Also(v, out)
	}
	if out.Fit != recall.Strong {
		return 0, nil
	}
	return len(out.Hits) + out.More, nil
}

// Recall answers a question from a copy of the memory that is open. An agent is
// told what it intends too.
func (s *Session) Recall(ctx context.Context, l *Copy, q Question, every bool) (out Recalled, state answer.State, err error) {
	at := s.Place.At(ctx)
	q.Scope = s.Place.Scope(ctx, every)
	if s.Memory.Writable() { // its owner does not intend it
		q.Intend = &intentions.Ask{Place: at, Text: q.Text}
	}
	r := Recall{Near: s.Models.nearNow(l.Copy), Matrix: s.Models.Matrix, Rerank: s.Models.Rerank, Copy: l.Source(),
		Read: func(ctx context.Context, do func(answer.View) (int, error)) error {
			state, err = l.Look(ctx, func(v answer.View) error {
				_, err := do(v)
				return err
			})
			return err
		}}
	out, err = r.Answer(ctx, q)
	return out, state, err
}

// Look reads the copy as a whole. The error is client.ErrUnreadable if there are
// memories, and none can be read.
func (l *Copy) Look(ctx context.Context, do func(answer.View) error) (state answer.State, err error) {
	err = l.Source().Read(ctx, func(v answer.View) error {
		if state = v.State(); state.Unreadable > 0 && len(v.Heads()) == 0 {
			return fmt.Errorf("%w: none of %d memories", client.ErrUnreadable, state.Unreadable)
		}
		return do(v)
	})
	return state, err
}

// lookAgain is how often a server looks for texts without vectors.
const lookAgain = 2 * time.Second

// Models are the model servers that are named; nil are those that are not. Matrix
// compares meaning where no server does.
type Models struct {
	Matrix bool
	Embed  embed.Embedder
	Rerank answer.Scorer
}

// Near returns how near sections are in meaning to a query and its parts.
type Near func(ctx context.Context, texts ...string) (recall.Near, error)

// novelty compares what a plan says with what is there, by a server that is named: its
// cosines say how far two texts are apart. The matrix's say who is nearest.
func novelty(near Near) func(ctx context.Context, text string) (func(slug string, section int) (float64, bool), error) {
	if near == nil {
		return nil
	}
	return func(ctx context.Context, text string) (func(string, int) (float64, bool), error) {
		compared, err := near(ctx, text)
		if err != nil {
			return nil, err
		}
		n, _ := compared(text)
		return n.Cosine, nil
	}
}

// nearNow compares a query with all texts that have vectors, once those that a
// short while is enough for have theirs; nil without a model.
func (m Models) nearNow(copy *localcopy.Copy) Near {
	if m.Embed == nil {
		return nil
	}
	source := vectors.New(copy, m.Embed)
	return func(ctx context.Context, texts ...string) (recall.Near, error) {
		filling, cancel := context.WithTimeout(ctx, vectors.QueryLimit)
		defer cancel()
		// What is lacking is found by words; a server that fails fails with the query too.
		_, _ = source.Fill(filling)
		return source.Near(ctx, texts...)
	}
}

// keepVectors fills vectors of a copy until stop is called, and says what goes
// wrong. It returns what compares a query with those that are there.
func keepVectors(ctx context.Context, copy *localcopy.Copy, model embed.Embedder, say func(string)) (near Near, stop func()) {
	s := vectors.New(copy, model)
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		s.Run(ctx, changed, time.After, func(err error) {
			if err != nil {
				say(fmt.Sprintf("the model for meaning fails, words alone are compared until it works: %v", err))
				return
			}
			say("the model for meaning works again")
		})
	})
	running.Go(func() {
		tick := time.NewTicker(lookAgain)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			select {
			case changed <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	})
	return s.Near, func() {
		cancel()
		running.Wait()
	}
}
