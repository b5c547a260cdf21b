package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/vectors"
	"engramd/internal/memory/vectors/embed"
)

// lookAgain is how often a server looks for texts without vectors.
const lookAgain = 2 * time.Second

// Models are the model servers that are named; nil are those that are not.
type Models struct {
	Embed  embed.Embedder
	Rerank answer.Scorer
}

// Near returns how near sections are to a query in meaning.
type Near func(ctx context.Context, query string) (func(slug string, section int) (cosine float64, ok bool), error)

// nearNow compares a query with all texts that have vectors, once those that a
// short while is enough for have theirs; nil without a model.
func (m Models) nearNow(copy *localcopy.Copy) Near {
	if m.Embed == nil {
		return nil
	}
	source := vectors.New(copy, m.Embed)
	return func(ctx context.Context, query string) (func(slug string, section int) (float64, bool), error) {
		filling, cancel := context.WithTimeout(ctx, vectors.QueryLimit)
		defer cancel()
		// What is lacking is found by words; a server that fails fails with the query too.
		_, _ = source.Fill(filling)
		return source.Near(ctx, query)
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
