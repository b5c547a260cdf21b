package cliutil

import (
	"io"
	"sync"
)

// shutter is a writer that can be closed for good while others hold it.
type shutter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewShutter returns a shutter over w.
func NewShutter(w io.Writer) *shutter { return &shutter{w: w} }

// Write passes b on, unless the shutter is shut.
func (s *shutter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return len(b), nil
	}
	return s.w.Write(b)
}

func (s *shutter) Shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
}
