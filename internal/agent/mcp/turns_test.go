package mcp

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// TestAppendsAtOnce: none is lost when many are under way, on a real relay.
func TestAppendsAtOnce(t *testing.T) {
	url := bridgetest.Start(t).URL
	p := connect(t, newServer(options{Memory: agentAt(t, url), Timeout: patience})) // the last one waits for all
	const writers = 12
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			res, err := p.CallTool(t.Context(), callOf("memory_append", args{"slug": "log", "text": string(rune('a' + i))}))
			if err != nil || res.IsError {
				t.Errorf("append %d: %v %v", i, err, res)
			}
		})
	}
	all.Wait()
	got := []byte(ask[readOut](p, "memory_read", args{"slug": "log"}).Text)
	slices.Sort(got)
	if string(got) != "\n\n\n\n\n\n\n\n\n\n\nabcdefghijkl" {
		t.Errorf("%q", got)
	}
}

// TestWritesToOneSlugAreInTurn: and those to others are not.
func TestWritesToOneSlugAreInTurn(t *testing.T) {
	m := newFake()
	var inside atomic.Int32
	begun, goOn := make(chan nipae.Slug, 10), make(chan struct{})
	m.set = func(_ context.Context, slug nipae.Slug, text string, _ memory.SetOptions) (client.Entry, client.Status, error) {
		if slug == "mem/x" && inside.Add(1) > 1 {
			t.Error("two writes to one slug at the same time")
		}
		begun <- slug
		<-goOn
		if slug == "mem/x" {
			inside.Add(-1)
		}
		return entryOf(slug, text), client.Status{}, nil
	}
	s := newServer(options{Memory: m})
	p := connect(t, s)
	var all sync.WaitGroup
	for _, slug := range []string{"x", "x", "x", "y"} {
		all.Go(func() {
			if res, err := p.CallTool(t.Context(), callOf("memory_write", args{"slug": slug, "text": "t"})); err != nil || res.IsError {
				t.Errorf("write: %v %v", err, res)
			}
		})
	}
	first := []nipae.Slug{<-begun, <-begun}
	slices.Sort(first)
	if !slices.Equal(first, []nipae.Slug{"mem/x", "mem/y"}) {
		t.Errorf("under way together: %q", first)
	}
	close(goOn)
	all.Wait()
	if len(s.calls.slugs.slugs) != 0 {
		t.Errorf("locks that nobody uses are kept: %v", s.calls.slugs.slugs)
	}
}

// TestCancelledCalls: reading stops, waiting stops, writing that has begun goes
// on.
func TestCancelledCalls(t *testing.T) {
	m := newFake()
	reading, ended := make(chan struct{}, 1), make(chan error, 1)
	m.get = func(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
		if slug != "mem/slow" {
			return client.Entry{}, client.Status{}, client.ErrNotFound
		}
		reading <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return client.Entry{}, client.Status{}, client.ErrNoRelay
	}
	writing, goOn := make(chan struct{}, 1), make(chan struct{})
	written := make(chan error, 2)
	m.set = func(ctx context.Context, slug nipae.Slug, text string, _ memory.SetOptions) (client.Entry, client.Status, error) {
		writing <- struct{}{}
		<-goOn
		written <- ctx.Err()
		return entryOf(slug, text), client.Status{}, nil
	}
	s := newServer(options{Memory: m})
	p := connect(t, s)
	call := func(tool string, a args) (cancel func(), done chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		done = make(chan error, 1)
		go func() {
			_, err := p.CallTool(ctx, callOf(tool, a))
			done <- err
		}()
		return cancel, done
	}

	cancel, done := call("memory_read", args{"slug": "slow"})
	<-reading
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a reading that was given up: %v", err)
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("its caller: %v", err)
	}

	cancel, done = call("memory_write", args{"slug": "w", "text": "t"})
	<-writing
	waits, waited := call("memory_write", args{"slug": "w", "text": "second"})
	s.calls.slugs.await(t, "mem/w", 2)
	waits()
	<-waited
	s.calls.slugs.await(t, "mem/w", 1) // the server knows that nobody waits for it
	cancel()
	<-done
	close(goOn)
	if err := <-written; err != nil {
		t.Errorf("a write that had begun was broken off: %v", err)
	}
	// The server still works, and the one that waited was never begun.
	if out := ask[writeOut](p, "memory_write", args{"slug": "w", "text": "third"}); out.Outcome != "created" || out.Slug != "mem/w" {
		t.Errorf("%+v", out)
	}
	if err := <-written; err != nil || len(written) > 0 {
		t.Errorf("the waiting write was begun all the same: %v, %d more", err, len(written))
	}
}

// await waits until so many hold a slug or wait for it.
func (l *locks) await(t *testing.T, slug nipae.Slug, users int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		one := l.slugs[slug]
		is := one != nil && one.users == users
		l.mu.Unlock()
		if is {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is never held or waited for by %d", slug, users)
		}
	}
}

// TestBegunWrites: what has begun goes on when its caller gives up, and ends
// with its time and with the server.
func TestBegunWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(options{Memory: newFake(), Timeout: time.Minute})
		begun := func(ctx context.Context, do func(ctx context.Context)) {
			_, _ = bounded(ctx, s.calls, func(ctx context.Context) (bool, error) {
				return writing(ctx, s.calls, []nipae.Slug{"mem/x"}, func(ctx context.Context) (bool, error) { do(ctx); return true, nil })
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		begun(ctx, func(ctx context.Context) {
			cancel()
			synctest.Wait()
			if ctx.Err() != nil {
				t.Error("a write was broken off because its caller gave up")
			}
		})
		start := time.Now()
		begun(t.Context(), func(ctx context.Context) { <-ctx.Done() })
		if took := time.Since(start); took != time.Minute {
			t.Errorf("a write took %v", took)
		}
		begun(t.Context(), func(ctx context.Context) {
			s.calls.end()
			synctest.Wait()
			if ctx.Err() == nil {
				t.Error("a write goes on after the end of the server")
			}
		})
	})
}

// TestBounds: calls in progress, calls that wait, and their time.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFake()
		var inside, most atomic.Int32
		m.get = func(ctx context.Context, _ nipae.Slug) (client.Entry, client.Status, error) {
			most.Store(max(most.Load(), inside.Add(1)))
			defer inside.Add(-1)
			<-ctx.Done()
			return client.Entry{}, client.Status{}, client.ErrNoRelay
		}
		s := newServer(options{Memory: m, Timeout: 5 * time.Second})
		read := func() (string, time.Duration) {
			start := time.Now()
			_, err := called(context.Background(), s.calls, "read", func(ctx context.Context) (readOut, error) {
				return (&readTools{s.memories}).read(ctx, readIn{Slug: "x"})
			})
			var f *Failure
			if !errors.As(err, &f) {
				t.Errorf("%v", err)
				return "", 0
			}
			return f.Code, time.Since(start)
		}
		codes := make(chan string, 100)
		for range maxCalls {
			go func() {
				code, took := read()
				if took > 6*time.Second {
					t.Errorf("a call took %v", took)
				}
				codes <- code
			}()
		}
		synctest.Wait()
		if inside.Load() != maxRunning {
			t.Errorf("%d under way", inside.Load())
		}
		if code, took := read(); code != CodeBusy || took != 0 {
			t.Errorf("one call too many: %s after %v", code, took)
		}
		got := map[string]int{}
		for range maxCalls {
			got[<-codes]++
		}
		if got[CodeUnreachable] < maxRunning || got[CodeBusy] == 0 || got[CodeUnreachable]+got[CodeBusy] != maxCalls || most.Load() > maxRunning {
			t.Errorf("%v, %d at most", got, most.Load())
		}
		if code, _ := read(); code != CodeUnreachable {
			t.Errorf("afterwards: %s", code)
		}
		s.calls.end()
	})
}

// TestDiscovery: before the first question, while nothing else is asked, again
// after a while, and sooner after a failure or a doubt.
func TestDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFake()
		var status client.Status
		var inside, found atomic.Int32
		m.get = func(context.Context, nipae.Slug) (client.Entry, client.Status, error) {
			inside.Add(1)
			defer inside.Add(-1)
			time.Sleep(time.Second)
			return entryOf("mem/x", "t"), status, nil
		}
		var failure error
		s := newServer(options{Memory: m, Discover: func(context.Context) error {
			time.Sleep(time.Second)
			if inside.Load() > 0 {
				t.Error("discovery beside a question")
			}
			found.Add(1)
			return failure
		}})
		defer s.calls.end()
		read := func() {
			if _, err := called(t.Context(), s.calls, "read", func(ctx context.Context) (readOut, error) {
				return (&readTools{s.memories}).read(ctx, readIn{Slug: "x"})
			}); err != nil {
				t.Error(err)
			}
		}
		after := func(wait time.Duration, want int32, why string) {
			t.Helper()
			time.Sleep(wait)
			read()
			if found.Swap(0) != want {
				t.Errorf("%s: not %d", why, want)
			}
		}
		if found.Load() != 0 {
			t.Error("discovery before anything was asked")
		}
		var all sync.WaitGroup
		for range 20 {
			all.Go(read)
		}
		all.Wait()
		if found.Swap(0) != 1 {
			t.Error("not one discovery for the first questions together")
		}
		after(time.Minute, 0, "soon after")
		after(discoverEvery, 1, "a while after")
		failure = client.ErrNoRelay
		after(discoverEvery, 1, "fails")
		failure = nil
		after(discoverAgain, 1, "soon after a failure")
		status.Partial = true
		after(discoverAgain, 0, "a partial answer")
		status.Partial = false
		after(time.Second, 1, "soon after a partial answer")
		// Questions that are under way when it is due are not disturbed.
		time.Sleep(discoverEvery - time.Millisecond)
		all.Go(read)
		time.Sleep(2 * time.Millisecond)
		all.Go(read)
		all.Wait()
		if found.Load() != 1 {
			t.Errorf("%d discoveries", found.Load())
		}
		// One that was cut short is made again.
		time.Sleep(discoverEvery)
		found.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if exit, err := s.calls.memory.enter(ctx); err == nil {
			exit()
			t.Error("entered though the time was over")
		}
		after(0, 2, "after one that was cut short")
	})
}

// TestServerEnds: with its peer, and with its context, whatever is under way.
func TestServerEnds(t *testing.T) {
	m := newFake()
	begun := make(chan struct{}, 1)
	m.get = func(ctx context.Context, _ nipae.Slug) (client.Entry, client.Status, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return client.Entry{}, client.Status{}, client.ErrNoRelay
	}
	s := newServer(options{Memory: m, Timeout: patience * 10})
	ours, theirs := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, ours) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	go session.CallTool(t.Context(), callOf("memory_read", args{"slug": "x"}))
	<-begun
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("an end that was asked for is an error: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end while a call is under way")
	}
	session.Close()
}
