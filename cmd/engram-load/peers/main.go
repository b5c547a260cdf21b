// Command peers serves the relays that engramd is measured against: khatru over
// a store that keeps nothing, and over three stores of eventstore.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

const usage = `usage:
  peers serve --store null|lmdb|badger|sqlite3 --data DIR [--listen ADDR] [--corpus FILE] [--auth]
  peers load --store lmdb|badger|sqlite3 --data DIR FILE
  peers version
`

var errUsage = errors.New("wrong command line")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, errUsage) {
		fmt.Fprintf(os.Stderr, "peers: %v\n%s", err, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "peers: %v\n", err)
		os.Exit(1)
	}
}

// run is the program: it ends when ctx does, or when its work is done.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("%w: no command", errUsage)
	}
	if args[0] == "version" && len(args) == 1 {
		_, err := fmt.Fprintln(stdout, version())
		return err
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var o options
	flags.StringVar(&o.store, "store", "null", "")
	flags.StringVar(&o.data, "data", "", "")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "")
	flags.StringVar(&o.corpus, "corpus", "", "")
	flags.BoolVar(&o.auth, "auth", false, "")
	if err := flags.Parse(args[1:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if o.data == "" && o.store != "null" {
		return fmt.Errorf("%w: --data is missing", errUsage)
	}
	switch {
	case args[0] == "serve" && flags.NArg() == 0:
		return serve(ctx, o, stdout, stderr)
	case args[0] == "load" && flags.NArg() == 1:
		return load(ctx, o, flags.Arg(0), stderr)
	}
	return fmt.Errorf("%w: %s", errUsage, strings.Join(args, " "))
}

// version names the libraries that are measured.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	var parts []string
	for _, d := range info.Deps {
		if name := path.Base(d.Path); slices.Contains([]string{"khatru", "eventstore", "go-nostr"}, name) {
			parts = append(parts, name+" "+d.Version)
		}
	}
	return strings.Join(append(parts, info.GoVersion), ", ")
}

// options are what the command line says.
type options struct {
	store  string
	data   string // folder of the store
	listen string
	corpus string // events that null answers from
	auth   bool   // ask every client to prove a key
}
