// Package rig runs the servers of a log, and nodes over them, as processes on
// this machine. Whatever connects two of them goes through a Proxy: the servers
// with each other in both directions, and each client with each server.
package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

// Rig is three servers, and those that are added.
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
	t.Cleanup(r.end)
	const count = 3
	for i := range count {
		r.place()
		if change != nil {
			change(i, &r.servers[i].settings)
		}
	}
	for i := range r.servers {
		r.Start(i)
	}
	r.Settle()
	return r
}

// place makes a server that does not run yet, and what leads to it.
func (r *Rig) place() (i int) {
	r.t.Helper()
	i = len(r.servers)
	name := fmt.Sprintf("s%d", i)
	s := &server{t: r.t, name: name, dir: filepath.Join(r.dir, name), settings: usual}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		r.t.Fatalf("%v", err)
	}
	r.servers = append(r.servers, s)
	r.monitor, r.direct = append(r.monitor, NewProxy(r.t)), append(r.direct, NewProxy(r.t))
	for j := range i {
		r.routes[[2]int{i, j}], r.routes[[2]int{j, i}] = NewProxy(r.t), NewProxy(r.t)
		r.routes[[2]int{i, j}].Target(r.servers[j].at.Cluster)
	}
	for _, c := range r.clients {
		c.proxies = append(c.proxies, NewProxy(r.t))
	}
	return i
}

// Add adds a server that runs, to which no node has an address that was configured
// before.
func (r *Rig) Add() (i int) {
	r.t.Helper()
	i = r.place()
	r.Start(i)
	r.Settle()
	return i
}

// end kills the servers and, if the test failed, shows what they logged.
func (r *Rig) end() {
	for _, s := range r.servers {
		if s.cmd != nil && !s.killed && !s.running() {
			r.t.Errorf("%s ended, and nobody here killed it", s.name)
		}
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

// OneWay has a server not hear another any more, which hears it.
func (r *Rig) OneWay(from, to int) {
	r.routes[[2]int{from, to}].Set(Deaf)
	r.routes[[2]int{to, from}].Set(HalfOpen)
}

// Isolate sets the state of everything between a server and the others.
func (r *Rig) Isolate(i int, s State) {
	for j := range r.servers {
		if j != i {
			r.Between(i, j, s)
		}
	}
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
