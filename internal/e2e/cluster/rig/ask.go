package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	settleLimit = 3 * time.Minute       // until servers that run have a leader
	poll        = 20 * time.Millisecond // between two looks
)

// Settle waits until all servers that run see one leader of JetStream, and all
// each other.
func (r *Rig) Settle() {
	r.t.Helper()
	r.Until("the servers have a leader", settleLimit, func() error {
		for i, s := range r.servers {
			if !s.running() {
				continue
			}
			if err := r.healthy(i); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		return nil
	})
}

func (r *Rig) healthy(i int) error {
	response, err := r.cert.client.Get(r.Monitor(i) + "/healthz")
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not healthy: %s", response.Status)
	}
	var answer struct {
		Meta struct {
			Leader string `json:"leader"`
			Size   int    `json:"cluster_size"`
		} `json:"meta_cluster"`
	}
	if response, err = r.cert.client.Get(r.Monitor(i) + "/jsz"); err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Meta.Leader == "" || answer.Meta.Size != len(r.servers) {
		return fmt.Errorf("the leader is %q of %d", answer.Meta.Leader, answer.Meta.Size)
	}
	return nil
}

// Until looks until a condition holds, and fails the test if it does not in time.
func (r *Rig) Until(what string, limit time.Duration, holds func() error) {
	r.t.Helper()
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); <-time.After(poll) {
		if err = holds(); err == nil {
			return
		}
	}
	r.t.Fatalf("not within %v: %s: %v", limit, what, err)
}

// Leader waits for a stream to have a leader, and returns its index. It asks past
// all proxies of clients.
func (r *Rig) Leader(stream string) (leader int) {
	r.t.Helper()
	r.Until("the stream has a leader", settleLimit, func() error {
		nc, err := r.connect()
		if err != nil {
			return err
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		s, err := js.Stream(ctx, stream)
		if err != nil {
			return err
		}
		name := s.CachedInfo().Cluster.Leader
		leader = slices.IndexFunc(r.servers, func(s *server) bool { return s.name == name && s.running() })
		if leader < 0 {
			return fmt.Errorf("it is %q", name)
		}
		return nil
	})
	return leader
}

// Connect connects as a node would, past all proxies of clients, to any server,
// until the test ends.
func (r *Rig) Connect() (nc *nats.Conn) {
	r.t.Helper()
	r.Until("a server takes a connection", settleLimit, func() (err error) {
		nc, err = r.connect()
		return err
	})
	r.t.Cleanup(nc.Close)
	return nc
}

func (r *Rig) connect() (*nats.Conn, error) {
	login, err := nats.NkeyOptionFromSeed(r.users.nodeFile)
	if err != nil {
		return nil, err
	}
	options := []nats.Option{login, nats.Timeout(time.Second)}
	urls := ""
	for i, s := range r.servers {
		if s.running() {
			urls += "nats://" + r.direct[i].Addr + ","
		}
		if s.settings.TLS {
			options = append(options, nats.RootCAs(r.cert.file))
		}
	}
	return nats.Connect(strings.TrimSuffix(urls, ","), options...)
}
