// Command engram-load measures a Nostr relay by its URL. This package reads
// command lines and prints; what is measured, and how, is in internal/load
// beside it.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	m := &Main{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(m.Run(ctx))
}

// Main is one run of the program with everything it touches.
type Main struct {
	Args   []string // without the program's name
	Stdout io.Writer
	Stderr io.Writer

	started bool // the command line made sense to cobra
}
