// Command record runs the section "Five minutes" of README.md, writes what came
// out into it, and draws it as docs/five-minutes.svg:
//
//	go run -tags "sqlite_fts5 libsecp256k1" ./internal/e2e/pages/record
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/e2e/pages"
	"engramd/internal/e2e/relaytest"
)

// notDrawn are commands that say nothing in a picture, by their beginning.
var notDrawn = []string{"(umask 077;"}

func main() {
	s := &studio{}
	err := s.record(context.Background())
	if err := errors.Join(err, s.end()); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func (s *studio) record(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			failed, ours := r.(failure)
			if !ours {
				panic(r)
			}
			err = failed
		}
	}()
	root, err := relaytest.Root()
	if err != nil {
		return err
	}
	_, got, err := pages.FiveMinutes(ctx, s, s.TempDir())
	if err != nil {
		return err
	}
	page, err := pages.Read("README.md")
	if err != nil {
		return err
	}
	section, err := pages.Section(page, "Five minutes")
	if err != nil {
		return err
	}
	page = strings.Replace(page, section, pages.Fill(section, got), 1)
	return errors.Join(
		os.WriteFile(filepath.Join(root, "README.md"), []byte(page), 0o644),
		os.WriteFile(filepath.Join(root, "docs", "five-minutes.svg"), []byte(draw(drawn(got))), 0o644))
}

func drawn(steps []pages.Step) []pages.Step {
	var out []pages.Step
next:
	for _, s := range steps {
		for _, prefix := range notDrawn {
			if strings.HasPrefix(s.Command, prefix) {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// failure is what ends a recording early.
type failure struct{ error }

// studio is the relaytest.T of a recording.
type studio struct{ undo []func() }

// Helper does nothing.
func (s *studio) Helper() {}

// Logf says something on stderr.
func (s *studio) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Errorf ends the recording.
func (s *studio) Errorf(format string, args ...any) { s.Fatalf(format, args...) }

// Fatalf ends the recording.
func (s *studio) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Cleanup registers what is undone at the end, last first.
func (s *studio) Cleanup(f func()) { s.undo = append(s.undo, f) }

// TempDir makes a folder that is removed at the end.
func (s *studio) TempDir() string {
	dir, err := os.MkdirTemp("", "engramd-record-")
	if err != nil {
		s.Fatalf("%w", err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *studio) end() error {
	for len(s.undo) > 0 {
		last := len(s.undo) - 1
		s.undo[last]()
		s.undo = s.undo[:last]
	}
	return relaytest.Clean()
}
