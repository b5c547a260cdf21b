package proof

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
)

// machine is one of the three, on a loopback address of its own: with a node, and a
// server of the log.
type machine struct {
	t          *testing.T
	host, data string
	server     *exec.Cmd
	node       *relaytest.Child
}

var hosts atomic.Int32 // that this process has used

// machines returns so many, on addresses that no other process of the tests has.
func machines(t *testing.T, count int) (all []*machine) {
	for range count {
		pid := os.Getpid()
		m := &machine{t: t, host: fmt.Sprintf("127.%d.%d.%d", 100+pid>>8&127, pid&255, hosts.Add(1)), data: filepath.Join(t.TempDir(), "data")}
		t.Cleanup(m.killServer)
		all = append(all, m)
	}
	return all
}

func (m *machine) file(name string) string { return filepath.Join(m.data, "cluster", name) }

func (m *machine) cluster(stdin string, args ...string) relaytest.Result {
	m.t.Helper()
	return relaytest.RunBinary(m.t, relaytest.Build{}, nil, []byte(stdin), append([]string{"cluster"}, args...)...)
}

func (m *machine) ok(r relaytest.Result) {
	m.t.Helper()
	if r.Code != 0 {
		m.t.Fatalf("%s: %d %s%s", m.host, r.Code, r.Stdout, r.Stderr)
	}
}

// run starts a command that goes on, which is killed with the test.
func (m *machine) run(program string, stdin string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	m.t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env, cmd.Stdin = relaytest.CleanEnv(), strings.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

// engramd runs it so.
func (m *machine) engramd(stdin string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	m.t.Helper()
	bin, err := relaytest.Binary(relaytest.Build{})
	if err != nil {
		m.t.Fatal(err)
	}
	return m.run(bin, stdin, args...)
}

// startServer starts the server of the log with the configuration that was made for it.
func (m *machine) startServer() {
	m.t.Helper()
	bin, err := rig.Natsd()
	if err != nil {
		m.t.Fatal(err)
	}
	var said *bufio.Scanner
	if m.server, said = m.run(bin, "", m.file("nats.conf")); !said.Scan() {
		m.t.Fatalf("%s: its server of the log ended", m.host)
	}
}

func (m *machine) killServer() {
	if m.server != nil {
		_ = m.server.Process.Kill()
		_ = m.server.Wait()
	}
}

func (m *machine) startNode() {
	m.t.Helper()
	var err error
	if m.node, err = relaytest.Launch(m.t, relaytest.Options{Data: m.data, Args: []string{"--config", m.file("engramd.toml")}}); err != nil {
		m.t.Fatalf("%s: %v %s", m.host, err, m.node.Log.Text())
	}
	m.ready()
}

func (m *machine) ready() {
	m.t.Helper()
	until(m.t, m.host+" is ready", func() error { return nodes.Ready(m.node, wait) })
}

func until(t *testing.T, what string, holds func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		if err = holds(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// let opens tokens at a machine, for others.
func (m *machine) let(others ...*machine) (tokens []string, door *exec.Cmd) {
	m.t.Helper()
	args := []string{"cluster", "token", "--config", m.file("engramd.toml")}
	for _, one := range others {
		args = append(args, one.host)
	}
	door, said := m.engramd("", args...)
	for range others {
		if !said.Scan() {
			m.t.Fatal("no token was printed")
		}
		tokens = append(tokens, said.Text())
	}
	return tokens, door
}

// healthy waits until the doctor at a machine is content.
func (m *machine) healthy() {
	m.t.Helper()
	until(m.t, "the doctor is content", func() error {
		if r := m.cluster("", "doctor", "--config", m.file("engramd.toml")); r.Code != 0 {
			return fmt.Errorf("%s%s", r.Stdout, r.Stderr)
		}
		return nil
	})
}

// Three commands make three machines one cluster, with TLS and keys of their own, and
// what they make is enough: nothing else is configured or copied.
func TestThreeCommands(t *testing.T) {
	t.Parallel()
	all := machines(t, 4)
	a, b, c, d := all[0], all[1], all[2], all[3]
	r := a.cluster("", "init", "--advertise", a.host, "--servers", b.host+","+c.host, "--data", a.data, "--write-authors", relaytest.NewKey(2026).Pub)
	a.ok(r)
	for _, command := range []string{"nats-server -c " + a.file("nats.conf"), "engramd serve --config " + a.file("engramd.toml"), "engramd cluster token --config " + a.file("engramd.toml") + " " + b.host + " " + c.host} {
		if !strings.Contains(string(r.Stdout), "\n  "+command+"\n") {
			t.Errorf("not told %q: %s", command, r.Stdout)
		}
	}
	began := time.Now()
	a.startServer()
	tokens, door := a.let(b, c)
	if r := a.cluster("", "token", "ls", "--config", a.file("engramd.toml")); strings.Count(string(r.Stdout), "\n") != 2 || strings.Contains(string(r.Stdout), tokens[0]) {
		t.Errorf("open: %s", r.Stdout)
	}
	var joins []*exec.Cmd
	for i, m := range []*machine{b, c} {
		join, _ := m.engramd(tokens[i]+"\n", "cluster", "join", "--token-file", "-", "--data", m.data)
		joins = append(joins, join)
		until(t, m.host+" was let in", func() error { _, err := os.Stat(m.file("nats.conf")); return err })
		m.startServer()
	}
	if err := door.Wait(); err != nil {
		t.Errorf("the door: %v", err)
	}
	_, _ = joins[1].Process.Kill(), joins[1].Wait() // what it made is enough to go on
	a.startNode()
	if err := joins[0].Wait(); err != nil {
		t.Fatalf("%s: %v", b.host, err)
	}
	b.startNode()
	c.ok(c.cluster("", "join", "--config", c.file("engramd.toml")))
	c.startNode()
	t.Logf("three nodes in %s", time.Since(began).Round(time.Second))
	a.healthy()

	ev := note(relaytest.NewKey(2026), "to all")
	mustStore(t, dial(t, a), ev)
	for _, m := range []*machine{b, c} {
		if got, err := dial(t, m).Query(relaytest.Filter{"ids": []string{ev.ID}}); err != nil || len(got.Events) != 1 {
			t.Errorf("%s: %d events, %v", m.host, len(got.Events), err)
		}
	}
	for _, m := range all[:3] {
		m.guarded()
	}
	if r := b.cluster(tokens[0], "join", "--token-file", "-", "--data", d.data); r.Code == 0 {
		t.Error("a token that was used let somebody in")
	}
	a.least()

	// The authority is lost; another one on a member lets in a machine that keeps no log.
	if err := os.Remove(a.file("authority.key")); err != nil {
		t.Fatal(err)
	}
	b.ok(b.cluster("", "init", "--renew-authority", "--config", b.file("engramd.toml")))
	ca, err := os.ReadFile(b.file("ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all[:3] {
		if err := os.WriteFile(m.file("ca.pem"), ca, 0o600); err != nil {
			t.Fatal(err)
		}
		m.killServer()
		m.startServer()
		a.healthy()
	}
	tokens, _ = b.let(d)
	d.ok(d.cluster(tokens[0], "join", "--token-file", "-", "--data", d.data))
	if _, err := os.Stat(d.file("nats.conf")); err == nil {
		t.Error("it has a server of the log")
	}
	d.startNode()
	a.healthy()
	if got, err := dial(t, d).Query(relaytest.Filter{"ids": []string{ev.ID}}); err != nil || len(got.Events) != 1 {
		t.Errorf("%d events, %v", len(got.Events), err)
	}
	wentBack(t, all, all[:3])
}

// wentBack puts the servers of a cluster back to what they had before an event was
// acknowledged. Its nodes halt, and recovered one after the other all have the event: what
// the three commands made has the rights to remove a log, and to make another one.
func wentBack(t *testing.T, all, servers []*machine) {
	t.Helper()
	move := func(to func(m *machine) (from, to string)) {
		for _, m := range servers {
			m.killServer()
			from, to := to(m)
			if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range servers {
			m.startServer()
		}
	}
	kept := t.TempDir()
	move(func(m *machine) (from, to string) { return m.file("log"), filepath.Join(kept, m.host) })
	all[0].healthy()
	ev := note(relaytest.NewKey(2026), "that the log lost")
	mustStore(t, dial(t, all[0]), ev)
	all[0].healthy()
	move(func(m *machine) (from, to string) { return filepath.Join(kept, m.host), m.file("log") })
	for _, m := range all {
		until(t, m.host+" halts", func() error {
			if !nodes.Halted(m.node) {
				return errors.New("it goes on")
			}
			return nil
		})
	}
	for _, m := range all {
		m.ok(m.cluster("", "recover", "--yes", "--config", m.file("engramd.toml")))
		until(t, m.host+" goes on", func() error {
			if nodes.Halted(m.node) {
				return errors.New("it has halted")
			}
			return nil
		})
		nodes.Moved(m.node)
		m.ready()
	}
	all[0].healthy()
	for _, m := range all {
		if got, err := dial(t, m).Query(relaytest.Filter{"ids": []string{ev.ID}}); err != nil || len(got.Events) != 1 {
			t.Errorf("%s lacks what was acknowledged: %d events, %v", m.host, len(got.Events), err)
		}
	}
}

func dial(t *testing.T, m *machine) *relaytest.Client {
	t.Helper()
	cl, err := relaytest.Dial(m.node.URL)
	if err != nil {
		t.Fatalf("%s: %v", m.host, err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// guarded looks whether anybody else may read the files, and whether keys are in the
// log of what happened.
func (m *machine) guarded() {
	m.t.Helper()
	err := filepath.WalkDir(filepath.Join(m.data, "cluster"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/log/") { // the server's own
			return err
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			m.t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	seed, failed := os.ReadFile(m.file("log.nk"))
	if err != nil || failed != nil {
		m.t.Errorf("%v, %v", err, failed)
	}
	if strings.Contains(m.node.Log.Text(), strings.TrimSpace(string(seed))) {
		m.t.Errorf("%s logs a seed", m.host)
	}
}

// stream connects as the user that nodes are.
func (m *machine) stream() (*nats.Conn, jetstream.JetStream) {
	m.t.Helper()
	login, err := nats.NkeyOptionFromSeed(m.file("log.nk"))
	if err != nil {
		m.t.Fatal(err)
	}
	if nc, err := nats.Connect("tls://"+m.host+":4222", login, nats.RootCAs(m.file("ca.pem"))); err == nil {
		nc.Close()
		m.t.Error("a connection without a certificate is taken")
	}
	nc, err := nats.Connect("tls://"+m.host+":4222", login, nats.RootCAs(m.file("ca.pem")), nats.ClientCert(m.file("node.pem"), m.file("node.key")))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(3*time.Second))
	if err != nil {
		m.t.Fatal(err)
	}
	return nc, js
}

// least tries what that user may not do.
func (m *machine) least() {
	m.t.Helper()
	nc, js := m.stream()
	s, err := js.Stream(m.t.Context(), stream)
	if err != nil {
		m.t.Fatalf("look: %v", err)
	}
	worse := s.CachedInfo().Config
	worse.MaxAge = time.Hour
	if _, err := js.UpdateStream(m.t.Context(), worse); err == nil {
		m.t.Error("it may have the log forget")
	}
	worse.Name, worse.Subjects = "other", []string{"other"}
	if _, err := js.CreateStream(m.t.Context(), worse); err == nil {
		m.t.Error("it may keep another log")
	}
	if err := nc.Publish("$SYS.REQ.SERVER.PING", nil); err != nil {
		m.t.Error(err)
	}
	if err := nc.Flush(); err != nil || nc.LastError() == nil {
		m.t.Errorf("it may ask the servers: %v", err)
	}
}
