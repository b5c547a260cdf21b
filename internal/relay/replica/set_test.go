package replica

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"
)

// nowhere makes followers whose relays cannot be reached; each says when it
// tries one.
func nowhere(dialed chan<- string) func(int, Spec) (*Follower, error) {
	return func(number int, s Spec) (*Follower, error) {
		return New(Options{
			Number: number, Spec: s, Log: slog.New(slog.DiscardHandler), Clock: time.Now, Jitter: func() float64 { return 0 },
			After: func(time.Duration) <-chan time.Time { return nil }, // it tries once
			Dial:  func() (Source, error) { dialed <- s.URL; return nil, errors.New("nobody is there") },
		}), nil
	}
}

// TestASetThatIsHeld follows while Follow runs, and then what was configured
// last, whenever that was.
func TestASetThatIsHeld(t *testing.T) {
	dialed := make(chan string, 10)
	s := NewSet(nowhere(dialed))
	defer s.Close()
	s.Hold()
	configure := func(urls ...string) {
		t.Helper()
		var specs []Spec
		for _, u := range urls {
			specs = append(specs, Spec{URL: u})
		}
		apply, err := s.Prepare(specs)
		if err != nil {
			t.Fatal(err)
		}
		apply()
	}
	follow := func() (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); s.Follow(ctx) }()
		return func() { cancel(); <-ended }
	}
	want := func(urls ...string) {
		t.Helper()
		var got []string
		for range urls {
			got = append(got, <-dialed)
		}
		slices.Sort(got)
		if !slices.Equal(got, urls) || len(dialed) > 0 {
			t.Errorf("followed %v and %d more, want %v", got, len(dialed), urls)
		}
	}
	configure("wss://a", "wss://b")
	if len(dialed) > 0 || len(s.Status()) > 0 {
		t.Errorf("%d are followed while it is held", len(dialed))
	}
	end := follow()
	want("wss://a", "wss://b")
	if n := len(s.Status()); n != 2 {
		t.Errorf("%d stand somewhere, want 2", n)
	}
	configure("wss://a", "wss://c") // the first goes on
	want("wss://c")
	end()
	configure("wss://a", "wss://d")
	if len(dialed) > 0 || len(s.Status()) > 0 {
		t.Errorf("%d are followed after the end", len(dialed))
	}
	end = follow()
	want("wss://a", "wss://d")
	s.Close()
	end() // it returns by itself, too
	s.Follow(t.Context())
	if len(dialed) > 0 {
		t.Error("a closed set follows")
	}
}
