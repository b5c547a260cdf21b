package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

var stored = []string{"lmdb", "badger", "sqlite3"}

// start runs `peers serve` until the test ends, and returns its URL.
func start(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"serve"}, args...), in, t.Output())
		in.CloseWithError(errors.Join(err, io.EOF))
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("peers serve %v: %v", args, err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("peers serve %v: %v", args, err)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "ready url=")
	if !ok {
		t.Fatalf("no ready line: %q", line)
	}
	return url
}

func dial(t *testing.T, url string) (context.Context, *nostr.Relay) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	relay, err := nostr.RelayConnect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = relay.Close() })
	return ctx, relay
}

func signed(t *testing.T, secret string, e nostr.Event) nostr.Event {
	t.Helper()
	if err := e.Sign(secret); err != nil {
		t.Fatal(err)
	}
	return e
}

// sample is ten notes, one second apart, and an addressable event.
func sample(t *testing.T) (author string, events []nostr.Event) {
	secret := nostr.GeneratePrivateKey()
	for i := range 10 {
		events = append(events, signed(t, secret, nostr.Event{
			Kind: 1, CreatedAt: nostr.Timestamp(1_700_000_000 + i), Content: fmt.Sprint("note ", i), Tags: nostr.Tags{{"t", "x"}}}))
	}
	events = append(events, signed(t, secret, nostr.Event{Kind: 30174, CreatedAt: 1_700_000_100, Tags: nostr.Tags{{"d", "slug"}, {"p", events[0].PubKey}}}))
	return events[0].PubKey, events
}

func corpus(t *testing.T, events []nostr.Event) string {
	t.Helper()
	var lines []string
	for _, e := range events {
		lines = append(lines, e.String())
	}
	file := filepath.Join(t.TempDir(), "corpus.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkAnswers asks for what sample made.
func checkAnswers(t *testing.T, url, author string, events []nostr.Event) {
	t.Helper()
	ctx, relay := dial(t, url)
	for _, test := range []struct {
		name   string
		filter nostr.Filter
		want   []nostr.Event
	}{
		{"author", nostr.Filter{Kinds: []int{1}, Authors: []string{author}, Limit: 3}, []nostr.Event{events[9], events[8], events[7]}},
		{"address", nostr.Filter{Kinds: []int{30174}, Authors: []string{author}, Tags: nostr.TagMap{"d": {"slug"}, "p": {author}}}, events[10:]},
		{"other address", nostr.Filter{Kinds: []int{30174}, Authors: []string{author}, Tags: nostr.TagMap{"d": {"other"}}}, nil},
		{"id", nostr.Filter{IDs: []string{events[4].ID}}, events[4:5]},
		{"tag", nostr.Filter{Tags: nostr.TagMap{"t": {"x"}}, Limit: 2}, []nostr.Event{events[9], events[8]}},
	} {
		got, err := relay.QuerySync(ctx, test.filter)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		// The client hands events over in any order.
		slices.SortFunc(got, func(a, b *nostr.Event) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) })
		if fmt.Sprint(got) != fmt.Sprint(pointers(test.want)) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func pointers(events []nostr.Event) []*nostr.Event {
	all := make([]*nostr.Event, len(events))
	for i := range events {
		all[i] = &events[i]
	}
	return all
}

func TestStoresAnswerWhatWasPublished(t *testing.T) {
	for _, name := range stored {
		t.Run(name, func(t *testing.T) {
			url := start(t, "--store", name, "--data", filepath.Join(t.TempDir(), "data"))
			author, events := sample(t)
			ctx, relay := dial(t, url)
			for _, e := range events {
				if err := relay.Publish(ctx, e); err != nil {
					t.Fatal(err)
				}
			}
			checkAnswers(t, url, author, events)
		})
	}
}

func TestStoresReplaceAtAnAddress(t *testing.T) {
	secret := nostr.GeneratePrivateKey()
	older := signed(t, secret, nostr.Event{Kind: 30174, CreatedAt: 1_700_000_000, Tags: nostr.Tags{{"d", "slug"}}})
	newer := signed(t, secret, nostr.Event{Kind: 30174, CreatedAt: 1_700_000_001, Tags: nostr.Tags{{"d", "slug"}}})
	for _, name := range stored {
		t.Run(name, func(t *testing.T) {
			ctx, relay := dial(t, start(t, "--store", name, "--data", t.TempDir()))
			for _, e := range []nostr.Event{older, newer} {
				if err := relay.Publish(ctx, e); err != nil {
					t.Fatal(err)
				}
			}
			got, err := relay.QuerySync(ctx, nostr.Filter{Kinds: []int{30174}})
			if err != nil || len(got) != 1 || got[0].ID != newer.ID {
				t.Errorf("got %v, %v, want %v alone", got, err, newer)
			}
		})
	}
}

func TestLoadedStoresAnswer(t *testing.T) {
	for _, name := range stored {
		t.Run(name, func(t *testing.T) {
			author, events := sample(t)
			data := filepath.Join(t.TempDir(), "data")
			args := []string{"load", "--store", name, "--data", data, corpus(t, events)}
			if err := run(t.Context(), args, io.Discard, t.Output()); err != nil {
				t.Fatal(err)
			}
			checkAnswers(t, start(t, "--store", name, "--data", data), author, events)
			if err := run(t.Context(), args, io.Discard, t.Output()); err == nil {
				t.Error("a store that is filled was filled again")
			}
		})
	}
}

func TestNullAnswersFromItsCorpusOnly(t *testing.T) {
	author, events := sample(t)
	url := start(t, "--corpus", corpus(t, events))
	ctx, relay := dial(t, url)
	more := signed(t, nostr.GeneratePrivateKey(), nostr.Event{Kind: 1, CreatedAt: 1_700_000_000, Tags: nostr.Tags{{"t", "x"}}})
	if err := relay.Publish(ctx, more); err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, url, author, events)
	n, _, err := relay.Count(ctx, nostr.Filters{{Kinds: []int{1}, Tags: nostr.TagMap{"t": {"x"}}}})
	if err != nil || n != 10 {
		t.Errorf("count: %d, %v, want 10", n, err)
	}
}

func TestClientsAreAskedForAKey(t *testing.T) {
	ctx, relay := dial(t, start(t, "--auth"))
	secret := nostr.GeneratePrivateKey()
	deadline := time.After(time.Minute)
	for { // the challenge comes by itself, soon after the connection is there
		err := relay.Auth(ctx, func(e *nostr.Event) error { return e.Sign(secret) })
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// The figures say that they are of these versions.
func TestVersionsAreTheOnesMeasured(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"version"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "eventstore v0.16.2, khatru v0.19.1, go-nostr v0.52.3, go1.") {
		t.Errorf("version: %q", got)
	}
}

func TestLoadRefuses(t *testing.T) {
	secret := nostr.GeneratePrivateKey()
	one := signed(t, secret, nostr.Event{Kind: 30174, CreatedAt: 1_700_000_000, Tags: nostr.Tags{{"d", "slug"}}})
	two := signed(t, secret, nostr.Event{Kind: 30174, CreatedAt: 1_700_000_001, Tags: nostr.Tags{{"d", "slug"}}})
	lines := one.String()
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(broken, []byte(lines+"\n{\"id\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"an address twice": {"load", "--store", "lmdb", "--data", t.TempDir(), corpus(t, []nostr.Event{one, two})},
		"half a line":      {"load", "--store", "lmdb", "--data", t.TempDir(), broken},
		"no file":          {"load", "--store", "lmdb", "--data", t.TempDir(), filepath.Join(t.TempDir(), "none")},
		"null":             {"load", "--store", "null", "--data", t.TempDir(), broken},
		"unknown store":    {"load", "--store", "paper", "--data", t.TempDir(), broken},
		"no data":          {"load", "--store", "lmdb", broken},
		"unknown command":  {"fly"},
		"nothing":          {},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
