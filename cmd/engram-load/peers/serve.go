package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	"github.com/fiatjaf/khatru"
	"github.com/nbd-wtf/go-nostr"
)

// serve runs khatru over the chosen store until ctx ends. Once it listens it
// prints one line: ready url=ws://HOST:PORT.
func serve(ctx context.Context, o options, stdout, stderr io.Writer) error {
	store, err := open(o, durable)
	if err != nil {
		return err
	}
	defer store.Close()
	if o.corpus != "" {
		kept, ok := store.(*memory)
		if !ok {
			return fmt.Errorf("%w: --corpus is for --store null", errUsage)
		}
		if err := kept.read(ctx, o.corpus); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	server := &http.Server{Handler: relay(store, "http://"+address, o.auth, stderr)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(stdout, "ready url=ws://%s\n", address)
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-ended:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
}

// relay is khatru as its documentation connects it to a store.
func relay(s store, url string, auth bool, stderr io.Writer) *khatru.Relay {
	r := khatru.NewRelay()
	r.Log = log.New(stderr, "", log.LstdFlags)
	r.ServiceURL = url
	r.StoreEvent = append(r.StoreEvent, s.SaveEvent)
	r.ReplaceEvent = append(r.ReplaceEvent, s.ReplaceEvent)
	r.DeleteEvent = append(r.DeleteEvent, s.DeleteEvent)
	// khatru runs a CLOSE and the REQ of the same name that follows it in any
	// order, and so may cancel the new one: SQLite's answer would be empty.
	r.QueryEvents = append(r.QueryEvents, func(ctx context.Context, f nostr.Filter) (chan *nostr.Event, error) {
		return s.QueryEvents(context.WithoutCancel(ctx), f)
	})
	r.CountEvents = append(r.CountEvents, s.CountEvents)
	if auth {
		r.OnConnect = append(r.OnConnect, khatru.RequestAuth)
	}
	return r
}
