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

	"engramd/internal/embed"
	"engramd/internal/meaning"
	"engramd/internal/mirror"
)

// lookAgain is how often a server looks for texts without vectors.
const lookAgain = 2 * time.Second

// embedFlags name a model server, which is asked only if one is named.
type embedFlags struct {
	url, model string
	plaintext  bool
}

func (f *embedFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "embed-url", "", "`URL` of a model server that compares meaning beside words (embed_url in a profile); its key is in ENGRAM_EMBED_KEY or in the file that ENGRAM_EMBED_KEY_FILE names")
	c.Flags().StringVar(&f.model, "embed-model", "", "`name` of its model (embed_model in a profile)")
	c.Flags().BoolVar(&f.plaintext, "send-plaintext", false, "the model server may be on another machine, by https: it reads memories as plain text")
}

// embedder returns the model that is named, nil if none is.
func (a *app) embedder(f embedFlags) (embed.Embedder, error) {
	p, err := a.profile()
	if err != nil {
		return nil, usageError{err}
	}
	url, model := cmp.Or(f.url, p.embedURL), cmp.Or(f.model, p.embedModel)
	if url == "" {
		return nil, nil
	}
	key := a.env["ENGRAM_EMBED_KEY"]
	if file := a.env["ENGRAM_EMBED_KEY_FILE"]; file != "" {
		if key != "" {
			return nil, usagef("the environment has two keys for the model: unset ENGRAM_EMBED_KEY or ENGRAM_EMBED_KEY_FILE")
		}
		text, err := os.ReadFile(a.path(file))
		if err != nil {
			return nil, usagef("the model's key: %w", err)
		}
		key = strings.TrimSpace(string(text))
	}
	c, err := embed.New(embed.Options{URL: url, Model: model, Key: key, SendPlaintext: f.plaintext})
	if errors.Is(err, embed.ErrPlaintext) {
		return nil, usagef("--embed-url: %w: --send-plaintext allows that", err)
	}
	if err != nil {
		return nil, usagef("--embed-url, --embed-model: %w", err)
	}
	return c, nil
}

// keepMeaning fills vectors of a copy until stop is called, and says what goes
// wrong.
func keepMeaning(ctx context.Context, copy *mirror.Mirror, model embed.Embedder, say func(string)) (s *meaning.Source, stop func()) {
	s = meaning.New(copy, model)
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
