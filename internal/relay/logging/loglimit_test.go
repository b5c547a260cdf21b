package logging

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errFull = errors.New("full")

// sink is a log in memory.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// lines returns the lines written so far, without their time.
func (s *sink) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Split(strings.TrimSuffix(s.b.String(), "\n"), "\n")
}

func newLog(s *sink) *slog.Logger {
	base := slog.NewTextHandler(s, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(New(base, Options{About: func(err error) bool { return errors.Is(err, errFull) }, Every: time.Minute, Text: "more of it"}))
}

// TestOneLineAMinute: a thousand failures in two minutes give three lines, a
// minute without failures gives none, and lines about something else are not
// held back.
func TestOneLineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &sink{}
		log := newLog(out)
		fail := func(n int) {
			for range n {
				log.With("relay", "a").Error("write failed", "events", 2, "err", fmt.Errorf("wrapped: %w", errFull))
			}
		}
		fail(400)
		log.Error("another failure", "err", errors.New("broken"))
		log.Info("no failure at all")
		time.Sleep(59 * time.Second)
		fail(100)
		time.Sleep(2 * time.Second)
		fail(500)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		fail(1)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		want := []string{
			`level=ERROR msg="write failed" relay=a events=2 err="wrapped: full"`,
			`level=ERROR msg="another failure" err=broken`,
			`level=INFO msg="no failure at all"`,
			`level=ERROR msg="more of it" events=998 lines=499 err="wrapped: full"`,
			`level=ERROR msg="more of it" events=1000 lines=500 err="wrapped: full"`,
			`level=ERROR msg="write failed" relay=a events=2 err="wrapped: full"`,
		}
		if got := strings.Join(out.lines(), "\n"); got != strings.Join(want, "\n") {
			t.Errorf("the log:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
		}
	})
}
