package load

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	searchLimit = 500
	// Of every so many searches for the rare word one is for the common one, and
	// no more of these once so many were given up by the relay.
	searchesPerCommon = 10
	maxGivenUp        = 3
)

// searchWorkload looks for words.
func searchWorkload() Workload {
	return Workload{
		Name: "search", Unit: "req/s", Needs: NeedsCorpus, run: runSearch,
		Help: "search (NIP-50) for a word in 1,000 notes, 500 asked for; then for one in half of all notes, a tenth as often, " +
			"which the relay may give up with CLOSED error: (half_given_up)",
		Defaults: Options{Count: 100, Connections: 1, Warmup: 10, Timeout: 5 * time.Minute},
	}
}

func runSearch(ctx context.Context, t Target, o Options) (Result, error) {
	c, err := LoadCorpus(o.Cache, o.Size, o.Seed)
	if err != nil {
		return Result{}, err
	}
	rare := newSearch(c, RareWord, func(e *Entry) bool { return e.Rare })
	r, err := repeat(ctx, t, o, rare.ask)
	if err != nil {
		return Result{}, excuse(ctx, t, nipSearch, fmt.Errorf("search for %q: %w", RareWord, err))
	}
	r.Extra = map[string]float64{"results": float64(rare.want())}
	common := newSearch(c, CommonWord, func(e *Entry) bool { return e.Common })
	if err := common.half(ctx, t, o, r.Extra); err != nil {
		return Result{}, fmt.Errorf("search for %q: %w", CommonWord, err)
	}
	return r, nil
}

// search is one question and what may answer it.
type search struct {
	message []byte
	word    []byte
	hits    map[ID]struct{} // all notes with the word
}

func newSearch(c *Corpus, word string, has func(*Entry) bool) *search {
	s := &search{
		message: fmt.Appendf(nil, `["REQ","%s",{"kinds":[1],"search":"%s","limit":%d}]`, askSub, word, searchLimit),
		word:    []byte(word), hits: make(map[ID]struct{}, c.count(has)),
	}
	for i := range c.Entries {
		if has(&c.Entries[i]) {
			s.hits[c.Entries[i].ID] = struct{}{}
		}
	}
	return s
}

// want returns how many events the answer has.
func (s *search) want() int { return min(len(s.hits), searchLimit) }

// ask searches once. All notes with the word, or as many of them as the limit
// allows, must come, each once. Which ones come first is the relay's choice.
func (s *search) ask(ctx context.Context, c *Conn) (time.Duration, error) {
	ids := make([]byte, 0, 64*s.want())
	took, err := c.exchange(ctx, patience, func(m Message) (bool, error) {
		switch m.Label {
		case LabelEOSE:
			return true, nil
		case LabelEvent:
			if len(ids) == 64*s.want() {
				return false, fmt.Errorf("%w: more than %d results", ErrWrong, s.want())
			}
			if !bytes.Contains(m.Event, s.word) {
				return false, fmt.Errorf("%w: a result without the word", ErrWrong)
			}
			ids = append(ids, m.ID...)
			return false, nil
		}
		return false, fmt.Errorf("%w: an answer to REQ that is none", ErrWrong)
	}, []byte(closeAsk), s.message)
	if err != nil {
		return took, err
	}
	return took, s.check(ids)
}

func (s *search) check(ids []byte) error {
	seen := make(map[ID]struct{}, s.want())
	for at := 0; at < len(ids); at += 64 {
		var id ID
		if _, err := hex.Decode(id[:], ids[at:at+64]); err != nil {
			return fmt.Errorf("%w: the id of a result: %w", ErrWrong, err)
		}
		if _, ok := s.hits[id]; !ok {
			return fmt.Errorf("%w: the result %s is not in the corpus with that word", ErrWrong, id.Hex())
		}
		seen[id] = struct{}{}
	}
	if len(seen) != s.want() || len(ids) != 64*s.want() {
		return fmt.Errorf("%w: %d different results of %d, which must be %d", ErrWrong, len(seen), len(ids)/64, s.want())
	}
	return nil
}

// half searches for the common word. The relay may give up.
func (s *search) half(ctx context.Context, t Target, o Options, extra map[string]float64) error {
	key, err := NewKey(o.Seed, "listener", 0)
	if err != nil {
		return err
	}
	c, err := Open(ctx, t, o, &key)
	if err != nil {
		return err
	}
	defer c.Close()
	var answered, all []time.Duration
	for givenUp := 0; len(all) < max(o.Count/searchesPerCommon, 1) && givenUp < maxGivenUp; {
		took, err := s.ask(ctx, c)
		var closed *closedError
		switch {
		case err == nil:
			answered = append(answered, took)
		case errors.As(err, &closed) && strings.HasPrefix(closed.text, "error:"):
			givenUp++
		default:
			return err
		}
		all = append(all, took)
	}
	extra["half_asked"], extra["half_given_up"] = float64(len(all)), float64(len(all)-len(answered))
	extra["half_max_us"] = NewLatency(all).Max
	if l := NewLatency(answered); l != nil {
		extra["half_p50_us"] = l.P50
	}
	return nil
}
