package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

const (
	// maxLine bounds one line of a file of events.
	maxLine = 1 << 20
	// lineBatch is how many lines go to a parser at once.
	lineBatch = 500
	// progressEvery is how often a long load says how far it is.
	progressEvery = 5 * time.Second
)

// load fills a store from a file of one event per line. An address that comes
// twice is an error: nothing is replaced, so that filling takes one write each.
// Durability starts with the copy of the folder, not with each event.
func load(ctx context.Context, o options, path string, stderr io.Writer) error {
	if o.store == "null" {
		return fmt.Errorf("%w: null keeps nothing: serve it with --corpus", errUsage)
	}
	if left, err := filepath.Glob(filepath.Join(o.data, "*")); err != nil || len(left) > 0 {
		return fmt.Errorf("%s is not empty", o.data)
	}
	s, err := open(o, hasty)
	if err != nil {
		return err
	}
	defer s.Close()
	started, last, n := time.Now(), time.Now(), 0
	addresses := make(map[string]struct{})
	err = readEvents(ctx, path, func(e *nostr.Event) error {
		if !nostr.IsRegularKind(e.Kind) {
			address := fmt.Sprint(e.Kind, e.PubKey, e.Tags.GetD())
			if _, again := addresses[address]; again {
				return fmt.Errorf("event %s: its address was there before", e.ID)
			}
			addresses[address] = struct{}{}
		}
		if err := s.SaveEvent(ctx, e); err != nil {
			return fmt.Errorf("event %s: %w", e.ID, err)
		}
		n++
		if time.Since(last) > progressEvery {
			last = time.Now()
			fmt.Fprintf(stderr, "load: %d events, %.0f/s\n", n, float64(n)/time.Since(started).Seconds())
		}
		return nil
	})
	if err == nil {
		fmt.Fprintf(stderr, "load: %d events, %.0f/s\n", n, float64(n)/time.Since(started).Seconds())
	}
	return err
}

// read fills null from a file of one event per line.
func (m *memory) read(ctx context.Context, path string) error {
	var events []*nostr.Event
	err := readEvents(ctx, path, func(e *nostr.Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		return err
	}
	m.index(events)
	return nil
}

// readEvents calls take for each event of the file, one at a time and in no
// particular order. Lines are parsed on all cores.
func readEvents(ctx context.Context, path string, take func(*nostr.Event) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := make(chan [][]byte, runtime.NumCPU())
	events := make(chan []*nostr.Event, runtime.NumCPU())
	go func() {
		defer close(lines)
		if err := split(ctx, f, lines); err != nil {
			cancel(fmt.Errorf("%s: %w", path, err))
		}
	}()
	var parsers sync.WaitGroup
	for range runtime.NumCPU() {
		parsers.Go(func() {
			if err := parse(ctx, lines, events); err != nil {
				cancel(fmt.Errorf("%s: %w", path, err))
			}
		})
	}
	go func() { parsers.Wait(); close(events) }()
	for batch := range events {
		for _, e := range batch {
			if ctx.Err() != nil {
				break
			}
			if err := take(e); err != nil {
				cancel(err)
			}
		}
	}
	return context.Cause(ctx)
}

// split cuts a file into batches of lines.
func split(ctx context.Context, f io.Reader, lines chan<- [][]byte) error {
	scanner := bufio.NewScanner(f)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	var batch [][]byte
	flush := func() {
		select {
		case lines <- batch:
		case <-ctx.Done():
		}
		batch = make([][]byte, 0, lineBatch)
	}
	for scanner.Scan() && ctx.Err() == nil {
		batch = append(batch, bytes.Clone(scanner.Bytes()))
		if len(batch) == lineBatch {
			flush()
		}
	}
	if len(batch) > 0 {
		flush()
	}
	return scanner.Err()
}

func parse(ctx context.Context, lines <-chan [][]byte, events chan<- []*nostr.Event) error {
	for batch := range lines {
		parsed := make([]*nostr.Event, len(batch))
		for i, line := range batch {
			parsed[i] = new(nostr.Event)
			if err := parsed[i].UnmarshalJSON(line); err != nil {
				return fmt.Errorf("no event: %w", err)
			}
			if len(parsed[i].ID) != 64 {
				return errors.New("no event: its id is missing")
			}
		}
		select {
		case events <- parsed:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
