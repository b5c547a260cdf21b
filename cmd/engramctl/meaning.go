package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/exit"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/vectors"
	"engramd/internal/memory/vectors/embed"
)

// lookAgain is how often a server looks for texts without vectors.
const lookAgain = 2 * time.Second

// modelFlags name model servers, which are asked only if they are named.
type modelFlags struct {
	embedURL, embedModel   string
	rerankURL, rerankModel string
	plaintext              bool
}

func (f *modelFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.embedURL, "embed-url", "", "`URL` of a model server that compares meaning beside words (embed_url in a profile); its key is in ENGRAM_EMBED_KEY or in the file that ENGRAM_EMBED_KEY_FILE names")
	c.Flags().StringVar(&f.embedModel, "embed-model", "", "`name` of its model (embed_model in a profile)")
	c.Flags().StringVar(&f.rerankURL, "rerank-url", "", "`URL` of a model server that puts the best 20 in order (rerank_url in a profile); its key is in ENGRAM_RERANK_KEY or in the file that ENGRAM_RERANK_KEY_FILE names")
	c.Flags().StringVar(&f.rerankModel, "rerank-model", "", "`name` of its model (rerank_model in a profile)")
	c.Flags().BoolVar(&f.plaintext, "send-plaintext", false, "a model server may be on another machine, by https: it reads memories as plain text")
}

// models are the servers that are named; nil are those that are not.
type models struct {
	embed  embed.Embedder
	rerank answer.Scorer
}

func (a *app) models(f modelFlags) (m models, err error) {
	p, err := a.Profile()
	if err != nil {
		return m, exit.BadUsage(err)
	}
	if url := cmp.Or(f.embedURL, p.EmbedURL); url != "" {
		o := embed.Options{URL: url, Model: cmp.Or(f.embedModel, p.EmbedModel), SendPlaintext: f.plaintext}
		if m.embed, err = openModel(a, "embed", o, embed.New); err != nil {
			return m, err
		}
	}
	if url := cmp.Or(f.rerankURL, p.RerankURL); url != "" {
		o := embed.Options{URL: url, Model: cmp.Or(f.rerankModel, p.RerankModel), SendPlaintext: f.plaintext}
		r, err := openModel(a, "rerank", o, embed.NewReranker)
		if err != nil {
			return m, err
		}
		m.rerank = r.Score
	}
	return m, nil
}

// openModel adds the key that the environment has for a server, and nothing of
// another's.
func openModel[T any](a *app, what string, o embed.Options, open func(embed.Options) (T, error)) (t T, err error) {
	name := "ENGRAM_" + strings.ToUpper(what) + "_KEY"
	o.Key = a.Vars[name]
	if file := a.Vars[name+"_FILE"]; file != "" {
		if o.Key != "" {
			return t, exit.Usagef("the environment has two keys for the model: unset %s or %s_FILE", name, name)
		}
		text, err := os.ReadFile(a.Path(file))
		if err != nil {
			return t, exit.Usagef("the model's key: %w", err)
		}
		o.Key = strings.TrimSpace(string(text))
	}
	t, err = open(o)
	if errors.Is(err, embed.ErrPlaintext) {
		return t, exit.Usagef("--%s-url: %w: --send-plaintext allows that", what, err)
	}
	if err != nil {
		return t, exit.Usagef("--%s-url, --%s-model: %w", what, what, err)
	}
	return t, nil
}

// ask adds to a query of one command what models say of it. Where one fails, that
// is said, and the query does without.
func (m models) ask(ctx context.Context, l *localCopy, q *answer.Query, now time.Time, note func(format string, args ...any)) error {
	if m.embed != nil {
		near, err := nearNow(ctx, vectors.New(l.Mirror, m.embed), q.Text)
		if q.Near = near; err != nil {
			note("the model for meaning fails, words alone are compared: %v", err)
		}
	}
	if m.rerank == nil {
		return nil
	}
	err := answer.Rerank(ctx, l.source(), q, now, m.rerank)
	var mistake *answer.Mistake
	if err != nil && !errors.As(err, &mistake) {
		note("the model that puts results in order fails: %v", err)
		return nil
	}
	return err
}

// nearNow compares a query with all texts that have vectors, once those that a
// short while is enough for have theirs.
func nearNow(ctx context.Context, s *vectors.Source, query string) (func(slug string, section int) (float64, bool), error) {
	filling, cancel := context.WithTimeout(ctx, vectors.QueryLimit)
	defer cancel()
	// What is lacking is found by words; a server that fails fails with the query too.
	_, _ = s.Fill(filling)
	return s.Near(ctx, query)
}

// keepMeaning fills vectors of a copy until stop is called, and says what goes
// wrong.
func keepMeaning(ctx context.Context, copy *localcopy.Mirror, model embed.Embedder, say func(string)) (s *vectors.Source, stop func()) {
	s = vectors.New(copy, model)
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
	return s, func() {
		cancel()
		running.Wait()
	}
}
