package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// disk is a small durable write beside the relay's data, made over and over: what
// a commit cannot be faster than, whoever else uses the disk.
func (f *field) disk(ctx context.Context, long time.Duration) (s seen, err error) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	file, err := os.Create(filepath.Join(filepath.Dir(f.relay.Data), "sync"))
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block, at := make([]byte, 4096), int64(0)
	p := probe{name: "durable write", once: func() (time.Duration, error) {
		start := time.Now()
		at += int64(len(block))
		if _, err := file.WriteAt(block, at); err != nil {
			return 0, err
		}
		err := syscall.Fdatasync(int(file.Fd()))
		return time.Since(start), err
	}}
	s = p.repeat(ctx)
	return s, s.failure
}
