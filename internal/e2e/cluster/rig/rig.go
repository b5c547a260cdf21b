// Package rig runs the servers of a log, and nodes over them, as processes on
// this machine. Whatever connects two of them goes through a Proxy: the servers
// with each other in both directions, and each client with each server.
package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// T is what the package needs of a test, as relaytest has it.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	TempDir() string
	Failed() bool
}

const (
	settleLimit = 60 * time.Second      // until servers that run have a leader
	poll        = 20 * time.Millisecond // between two looks
)

// Rig is three servers.
type Rig struct {
	t       T
	dir     string
	users   users
	cert    certificate
	servers []*server
	routes  map[[2]int]*Proxy // from, to
	monitor []*Proxy          // to the monitoring port of each
	direct  []*Proxy          // to the client port of each, for the rig itself
	clients []*Client
}

// Start runs three servers and waits until they have a leader. change may be
// nil; it changes the settings of the server with this index.
func Start(t T, change func(i int, s *Settings)) *Rig {
	t.Helper()
	r := &Rig{t: t, dir: t.TempDir(), routes: map[[2]int]*Proxy{}}
	var err error
	if r.users, err = newUsers(r.dir); err != nil {
		t.Fatalf("%v", err)
	}
	if r.cert, err = newCertificate(r.dir); err != nil {
		t.Fatalf("%v", err)
	}
	const count = 3
	for i := range count {
		s := &server{t: t, name: fmt.Sprintf("s%d", i), dir: filepath.Join(r.dir, fmt.Sprintf("s%d", i)), settings: usual}
		if err := os.Mkdir(s.dir, 0o700); err != nil {
			t.Fatalf("%v", err)
		}
		if change != nil {
			change(i, &s.settings)
		}
		r.servers = append(r.servers, s)
		r.monitor, r.direct = append(r.monitor, NewProxy(t)), append(r.direct, NewProxy(t))
		for j := range count {
			if i != j {
				r.routes[[2]int{i, j}] = NewProxy(t)
			}
		}
	}
	t.Cleanup(r.end)
	for i := range r.servers {
		r.Start(i)
	}
	r.Settle()
	return r
}

// end kills the servers and, if the test failed, shows what they logged.
func (r *Rig) end() {
	for _, s := range r.servers {
		s.kill()
		if r.t.Failed() {
			r.t.Logf("%s: …%s", s.name, s.log())
		}
	}
}

// Name returns a server's name.
func (r *Rig) Name(i int) string { return r.servers[i].name }

// Count returns how many servers there are.
func (r *Rig) Count() int { return len(r.servers) }

// Start starts a server with the settings that it has, and lets the proxies go to
// its new ports. It does not wait for a leader.
func (r *Rig) Start(i int) {
	r.t.Helper()
	s := r.servers[i]
	if s.running() {
		r.t.Fatalf("%s runs already", s.name)
	}
	var routes []string
	for j := range r.servers {
		if j != i {
			routes = append(routes, r.routes[[2]int{i, j}].Addr)
		}
	}
	if err := s.write(routes, r.users, r.cert); err != nil {
		r.t.Fatalf("%v", err)
	}
	s.run()
	r.monitor[i].Target(s.at.Monitor)
	r.direct[i].Target(s.at.Client)
	for j := range r.servers {
		if j != i {
			r.routes[[2]int{j, i}].Target(s.at.Cluster)
		}
	}
	for _, c := range r.clients {
		c.proxies[i].Target(s.at.Client)
	}
}

// Restart starts a server that does not run with other settings.
func (r *Rig) Restart(i int, change func(*Settings)) {
	r.t.Helper()
	change(&r.servers[i].settings)
	r.Start(i)
}

// Kill ends a server with SIGKILL.
func (r *Rig) Kill(i int) { r.servers[i].kill() }

// Stop stops a server where it is (SIGSTOP); its connections stay. Cont lets it
// go on.
func (r *Rig) Stop(i int) { r.servers[i].signal(syscall.SIGSTOP) }

// Cont lets a server go on.
func (r *Rig) Cont(i int) { r.servers[i].signal(syscall.SIGCONT) }

// Between sets the state of both proxies between two servers.
func (r *Rig) Between(i, j int, s State) {
	r.routes[[2]int{i, j}].Set(s)
	r.routes[[2]int{j, i}].Set(s)
}

// Isolate sets the state of everything between a server and the others.
func (r *Rig) Isolate(i int, s State) {
	for j := range r.servers {
		if j != i {
			r.Between(i, j, s)
		}
	}
}

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

// Monitor returns the monitoring URL of a server, which stays.
func (r *Rig) Monitor(i int) string {
	if r.servers[i].settings.TLS {
		return "https://" + r.monitor[i].Addr
	}
	return "http://" + r.monitor[i].Addr
}

// Certificate is the file with the certificate of servers that have TLS.
func (r *Rig) Certificate() string { return r.cert.file }

// Monitors returns those of all servers.
func (r *Rig) Monitors() (all []string) {
	for i := range r.servers {
		all = append(all, r.Monitor(i))
	}
	return all
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
func (r *Rig) Connect() *nats.Conn {
	r.t.Helper()
	nc, err := r.connect()
	if err != nil {
		r.t.Fatalf("connect: %v", err)
	}
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
