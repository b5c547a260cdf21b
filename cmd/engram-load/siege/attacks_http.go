package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"engramd/internal/e2e/relaytest"
)

// calls makes HTTP requests one after the other, each soldier over a connection
// of its own.
func calls(next func(s *soldier, i int) (*http.Request, error)) fight {
	return func(ctx context.Context, s *soldier) {
		client := http.Client{Transport: &http.Transport{
			DialContext: (&net.Dialer{LocalAddr: s.local()}).DialContext, MaxConnsPerHost: 1,
		}}
		defer client.CloseIdleConnections()
		for i := 0; ctx.Err() == nil; i++ {
			req, err := next(s, i)
			if err != nil {
				return
			}
			resp, err := client.Do(req.WithContext(ctx))
			s.engaged()
			s.struck()
			if err != nil {
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
				continue
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
}

// signed is a POST with NIP-98 by the soldier's own key, signed once in a while:
// a read may come again with the same proof.
func signed(path, body string) func(s *soldier, i int) (*http.Request, error) {
	proofs := make([]struct {
		header string
		at     int64
	}, 2*perForm)
	return func(s *soldier, _ int) (*http.Request, error) {
		url := s.http(path)
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		key := relaytest.NewKey(uint64(11_000 + s.n))
		req.Header.Set("Content-Type", "application/json")
		proof, now := &proofs[s.n], time.Now().Unix()
		if now > proof.at+20 {
			proof.header, proof.at = relaytest.HTTPAuth(key, http.MethodPost, url, []byte(body), now), now
		}
		req.Header.Set("Authorization", proof.header)
		return req, nil
	}
}

func signedQueries(target) (fight, error) {
	return calls(signed("/query", "["+scanFilter+"]")), nil
}

func pages(target) (fight, error) {
	return calls(func(s *soldier, i int) (*http.Request, error) {
		req, err := http.NewRequest(http.MethodGet, s.http([]string{"/", "/", "/healthz"}[i%3]), nil)
		if err == nil && i%3 == 1 {
			req.Header.Set("Accept", "application/nostr+json")
		}
		return req, err
	}), nil
}

// contractSearch fills a thread of the attackers' own, of which one is a party,
// and has all of them search it: half with proof, half without.
func contractSearch(t target) (fight, error) {
	poster, worker := relaytest.NewKey(11_000), relaytest.NewKey(11_001) // soldiers 0 and 1
	id := fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012x", time.Now().UnixNano()&(1<<48-1))
	c, err := relaytest.DialFrom(string(t), oneIP)
	for i := 0; err != nil && i < 200; i++ { // those who attacked before may not be gone yet
		time.Sleep(100 * time.Millisecond)
		c, err = relaytest.DialFrom(string(t), oneIP)
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	base := time.Now().Unix() - 2000
	say := func(ok relaytest.OK, err error) error {
		if err == nil && !ok.True {
			err = fmt.Errorf("refused: %s", ok.Message)
		}
		return err
	}
	if err := say(c.Publish(relaytest.State(poster, worker.Pub, id, "open", "", base))); err != nil {
		return nil, err
	}
	text := strings.Repeat("ä ö ü ß ", 4500)
	for i := range 60 {
		if err := say(c.Publish(relaytest.Entry(poster, worker.Pub, id, "message", text, base+int64(i)+1))); err != nil {
			return nil, err
		}
	}
	path, body := "/api/escrow/contracts/"+id+"/memory/search", `{"query":"nowhere"}`
	proved := signed(path, body)
	return calls(func(s *soldier, i int) (*http.Request, error) {
		req, err := proved(s, i)
		if err == nil && s.n%2 == 1 {
			req.Header.Del("Authorization")
		}
		return req, err
	}), nil
}
