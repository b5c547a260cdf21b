// Package vectors keeps vectors of a local copy's texts, and compares them with
// those of a query: meaning beside words, where somebody named a model server.
//
// Fill asks for the vectors that are lacking, by the model's name and the text's
// hash, so that another model begins anew, and forgets those of archived texts. Near compares a query with all of
// them, one by one. Where the server fails or hangs, recall goes on with words.
package vectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/meaning"
	"engramd/internal/memory/model"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/vectors/embed"
	"engramd/nips/frontmatter"
)

const (
	// atOnce is how many memories are looked at for one round of Fill.
	atOnce = 64
	// QueryLimit is how long a query waits for its vector.
	QueryLimit = 2 * time.Second
	// Until a server that failed is asked again.
	leastPause = 5 * time.Second
	mostPause  = 5 * time.Minute
	// mostSections is how many sections of one text have vectors; the others are
	// found by words.
	mostSections = 256
	// mostText is how many bytes of a section are sent, and briefText how many if
	// the server refuses it: models of 512 tokens are usual, and a word may be long.
	mostText, briefText = 2000, 500
	// refusals is how many texts in a row a server may refuse before the server,
	// and not the texts, is taken to be at fault.
	refusals = 8
)

// Source gives meaning for one local copy by one model. Any number of goroutines
// may use it.
type Source struct {
	copy  *localcopy.Copy
	model embed.Embedder
	name  string // of the model, with the form of the texts
	limit time.Duration

	mu    sync.Mutex
	state [2]int64
	space *meaning.Space // nil before the first use
	whole [2]int64       // the state in which no text lacked vectors
	only  bool           // vectors of other models were forgotten
	// refused are hashes of texts that the server does not take: they are found by
	// words.
	refused map[string]bool
	worked  bool          // the server took a text once
	usual   meaning.Usual // of the model; zero before it was asked for
}

// New returns a Source.
func New(copy *localcopy.Copy, model embed.Embedder) *Source {
	return &Source{copy: copy, model: model, name: named(model), limit: QueryLimit, refused: map[string]bool{}}
}

// named is the name of a model's vectors. The form of the texts belongs to it: a later
// one makes other vectors.
func named(m embed.Embedder) string { return m.Name() + "|1" }

type task struct {
	hash     string
	sections []string
}

// Fill asks for the vectors of texts that have none, until there are no more,
// and returns how many texts it has filled. It may be called by several processes
// at once, which then do some work twice. A text that the server refuses is left
// out from then on; where it refuses all, that is an error.
func (s *Source) Fill(ctx context.Context) (filled int, err error) {
	s.mu.Lock()
	only := s.only
	s.mu.Unlock()
	if !only { // a write, which is not worth it each time
		if err := s.copy.OnlyModel(ctx, s.name); err != nil {
			return 0, err
		}
		s.mu.Lock()
		s.only = true
		s.mu.Unlock()
	}
	if err := s.forget(ctx); err != nil {
		return 0, err
	}
	var row []string // hashes of the texts that were refused since the last that was not
	var refusal error
	for {
		tasks, err := s.lacking(ctx)
		if err != nil {
			return filled, err
		}
		if len(tasks) == 0 {
			return filled, s.blame(row, refusal, len(row) > 0)
		}
		for _, t := range tasks {
			err := s.fill(ctx, t)
			switch {
			case err == nil:
				filled, row = filled+1, nil
			case !errors.Is(err, model.ErrRefused):
				return filled, err
			default:
				row, refusal = append(row, t.hash), err
				if err := s.blame(row, refusal, len(row) == refusals); err != nil {
					return filled, err
				}
			}
		}
	}
}

// blame notes that texts were refused, and are not asked for again. Where the
// server, and not they, is at fault, it returns the refusal instead.
func (s *Source) blame(row []string, refusal error, ended bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range row {
		s.refused[hash] = true
	}
	if len(row) < refusals && (s.worked || !ended) {
		return nil
	}
	for _, hash := range row {
		delete(s.refused, hash)
	}
	s.whole = [2]int64{-1} // they lack theirs
	return refusal
}

// forget forgets vectors that nothing needs, if anything has changed.
func (s *Source) forget(ctx context.Context) error {
	changed := false
	s.mu.Lock() // before the copy, as everywhere here
	err := s.copy.Read(ctx, func(v *localcopy.View) error {
		changed = v.VectorsAt() != s.whole
		return nil
	})
	s.mu.Unlock()
	if err != nil || !changed {
		return err
	}
	return s.copy.ForgetVectors(ctx, s.name)
}

// lacking returns some texts without vectors, each once.
func (s *Source) lacking(ctx context.Context) (tasks []task, err error) {
	_, prefix := embed.Forms(s.model.Name())
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.copy.Read(ctx, func(v *localcopy.View) error {
		tasks = nil
		at := v.VectorsAt()
		if at == s.whole {
			return nil
		}
		defer func() {
			if len(tasks) == 0 {
				s.whole = at
			}
		}()
		seen := map[string]bool{}
		for _, h := range v.Lacking(s.name, atOnce+len(s.refused)) {
			text, ok := v.Text(h.Slug)
			if !ok || seen[h.Hash] || s.refused[h.Hash] {
				continue
			}
			seen[h.Hash] = true
			sections := recall.Sections(recall.Of(h.Slug, frontmatter.Parse(text), time.Unix(h.CreatedAt, 0)))
			t := task{hash: h.Hash}
			for _, one := range sections[:min(len(sections), mostSections)] {
				if strings.TrimSpace(one) == "" {
					one = h.Slug // a model makes nothing of nothing
				}
				t.sections = append(t.sections, prefix+one)
			}
			tasks = append(tasks, t)
		}
		return nil
	})
	return tasks, err
}

func (s *Source) fill(ctx context.Context, t task) error {
	raw, err := s.model.Embed(ctx, cut(t.sections, mostText))
	if errors.Is(err, model.ErrRefused) {
		raw, err = s.model.Embed(ctx, cut(t.sections, briefText))
	}
	if err != nil {
		return err
	}
	vectors := make([]meaning.Vector, len(raw))
	for i, r := range raw {
		if vectors[i], err = meaning.Quantized(r); err != nil {
			return fmt.Errorf("%w: %w", model.ErrAnswer, err)
		}
	}
	s.mu.Lock()
	s.worked = true
	s.mu.Unlock()
	return s.copy.PutVectors(ctx, s.name, t.hash, vectors)
}

// cut returns texts of at most so many bytes each.
func cut(texts []string, most int) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		if len(t) > most {
			out[i] = strings.ToValidUTF8(t[:most], "") // half a character at its end
		}
	}
	return out
}

// Run fills now, and again each time that something comes from changed, until
// ctx ends. A server that fails is asked again after a pause that grows; told
// hears of the first failure in a row, and of nil when it works again.
func (s *Source) Run(ctx context.Context, changed <-chan struct{}, after func(time.Duration) <-chan time.Time, told func(error)) {
	pause, failing := leastPause, false
	for {
		_, err := s.Fill(ctx)
		if ctx.Err() != nil {
			return
		}
		if (err != nil) != failing {
			failing = err != nil
			told(err)
		}
		if err == nil {
			pause = leastPause
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case <-after(pause):
			pause = min(2*pause, mostPause)
		case <-ctx.Done():
			return
		}
	}
}
