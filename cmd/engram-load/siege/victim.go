package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// pace is how often each probe is made at the most.
const pace = 20 * time.Millisecond

// probe is one thing that the well-behaved client does; it returns how long the
// relay took, without what the client needs for itself (signing).
type probe struct {
	name string
	once func() (time.Duration, error)
}

// victim is the well-behaved client: each probe has a connection of its own.
type victim struct {
	*field
	probes []probe
	conns  []*relaytest.Client
	http   *http.Client
	clock  int64
}

func newVictim(f *field) (*victim, error) {
	v := &victim{field: f, clock: time.Now().Unix() - 100_000}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: victimIP}}
	v.http = &http.Client{Timeout: relaytest.Patience, Transport: &http.Transport{DialContext: dialer.DialContext}}
	for _, add := range []func() error{v.readsHead, v.writes, v.countsOwn, v.seesLive, v.asksHTTP, v.manages} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *victim) close() {
	for _, c := range v.conns {
		c.Close()
	}
	v.http.CloseIdleConnections()
}

func (v *victim) dial() (*relaytest.Client, error) {
	c, err := relaytest.DialFrom(v.relay.URL, victimIP)
	if err != nil {
		return nil, err
	}
	v.conns = append(v.conns, c)
	return c, c.Auth(v.agent)
}

func (v *victim) add(name string, once func() (time.Duration, error)) {
	v.probes = append(v.probes, probe{name, once})
}

func (v *victim) head() relaytest.Filter {
	return relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{v.agent.Pub},
		"#d": []string{relaytest.Address(v.agent, v.owner.Pub, "core")}, "#p": []string{v.owner.Pub}}
}

func (v *victim) readsHead() error {
	c, err := v.dial()
	if err != nil {
		return err
	}
	ok, err := c.Publish(relaytest.Memory(v.agent, v.owner.Pub, "core", "profile", v.clock))
	if err != nil || !ok.True {
		return fmt.Errorf("publish: %v %v", ok, err)
	}
	v.add("read a head", func() (time.Duration, error) {
		start := time.Now()
		a, err := c.Query(v.head())
		took := time.Since(start)
		if err == nil && len(a.Events) != 1 {
			err = fmt.Errorf("%d heads, CLOSED %q", len(a.Events), a.Closed)
		}
		return took, err
	})
	return nil
}

func (v *victim) writes() error {
	c, err := v.dial()
	n := v.clock
	v.add("write", func() (time.Duration, error) {
		n++
		ev := relaytest.Memory(v.agent, v.owner.Pub, "diary", fmt.Sprint("line ", n), n)
		start := time.Now()
		ok, err := c.Publish(ev)
		took := time.Since(start)
		if err == nil && !ok.True {
			err = fmt.Errorf("refused: %s", ok.Message)
		}
		return took, err
	})
	return err
}

func (v *victim) countsOwn() error {
	c, err := v.dial()
	own := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{v.agent.Pub}}
	v.add("COUNT of its own", func() (time.Duration, error) {
		start := time.Now()
		_, closed, err := c.Count(own)
		took := time.Since(start)
		if err == nil && closed != "" {
			err = fmt.Errorf("CLOSED %s", closed)
		}
		return took, err
	})
	return err
}

func (v *victim) seesLive() error {
	writer, err := v.dial()
	if err != nil {
		return err
	}
	reader, err := v.dial()
	if err != nil {
		return err
	}
	a, err := reader.Subscribe("live", relaytest.Filter{"kinds": []int{1}, "authors": []string{v.agent.Pub}, "limit": 0})
	if err != nil || !a.EOSE {
		return fmt.Errorf("subscribe: %v, CLOSED %q", err, a.Closed)
	}
	n := v.clock
	v.add("live event", func() (time.Duration, error) {
		n++
		ev := relaytest.Note(v.agent, n, fmt.Sprint("seen live ", n))
		start := time.Now()
		ok, err := writer.Publish(ev)
		if err != nil || !ok.True {
			return 0, fmt.Errorf("publish: %v, %s", err, ok.Message)
		}
		got, err := reader.Live("live")
		took := time.Since(start)
		if err == nil && (got == nil || got.ID != ev.ID) {
			err = fmt.Errorf("another event came, or CLOSED")
		}
		return took, err
	})
	return nil
}

func (v *victim) asksHTTP() error {
	body, err := json.Marshal([]any{v.head()})
	v.add("POST /query", func() (time.Duration, error) {
		return v.post(v.agent, "/query", "application/json", body)
	})
	return err
}

func (v *victim) manages() error {
	n := 0
	v.add("NIP-86 call", func() (time.Duration, error) {
		n++ // each call is signed once: equal ones of a second would be replays
		body := fmt.Appendf(nil, `{"method":"listbannedpubkeys","params":[],"id":%d}`, n)
		return v.post(v.admin, "/", "application/nostr+json+rpc", body)
	})
	return nil
}

func (v *victim) post(k relaytest.Key, path, kind string, body []byte) (time.Duration, error) {
	url := v.relay.HTTP(path)
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	nonce := nostr.Tag{"nonce", fmt.Sprint(v.random.Uint64())}
	req.Header.Set("Authorization", relaytest.HTTPAuthWith(k, http.MethodPost, url, body, time.Now().Unix(), nonce))
	req.Header.Set("Content-Type", kind)
	start := time.Now()
	resp, err := v.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	took := time.Since(start)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d: %s", resp.StatusCode, text)
	}
	return took, err
}

// seen is what one probe saw.
type seen struct {
	n        int
	p50, p99 time.Duration
	failed   int
	failure  error // the first
}

// measured is what all probes saw, in their order.
type measured []seen

// measure makes all probes side by side for so long.
func (v *victim) measure(ctx context.Context, long time.Duration) (measured, error) {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	out := make(measured, len(v.probes))
	var all sync.WaitGroup
	for i, p := range v.probes {
		all.Go(func() { out[i] = p.repeat(ctx) })
	}
	all.Wait()
	return out, nil
}

func (p *probe) repeat(ctx context.Context) (s seen) {
	var took []time.Duration
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		d, err := p.once()
		if err != nil {
			s.failed++
			if s.failure == nil {
				s.failure = fmt.Errorf("%s: %w", p.name, err)
			}
		} else {
			took = append(took, d)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	slices.Sort(took)
	if s.n = len(took); s.n > 0 {
		s.p50, s.p99 = took[s.n/2], took[s.n*99/100]
	}
	return s
}

// settle waits until every probe is within its bound again, so that an attack is not blamed
// for the one before it.
func (v *victim) settle(ctx context.Context, bounds []time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for quick := 0; quick < 3; {
		quick++
		for i, p := range v.probes {
			took, err := p.once()
			if err != nil || took > bounds[i] {
				quick = 0
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the relay is not itself again after the attack")
		}
	}
	return nil
}
