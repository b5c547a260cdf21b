// Package natstest runs a real nats-server for tests.
package natstest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
)

// Required is the environment variable that makes a missing nats-server fail a
// test. Without it the test is skipped, and named in the file that E2E_NOTES
// names.
const Required = "E2E_NATS_REQUIRED"

// Server is a nats-server on a port of a loopback address of its own, which it keeps
// over restarts: on a common one another test might take the port meanwhile.
type Server struct {
	URL  string // nats://ADDRESS:PORT
	tb   testing.TB
	bin  string
	host string
	port string
	args []string

	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
}

// Start runs a server with further arguments until the test ends.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	bin, err := find()
	if err != nil {
		missing(tb, err)
	}
	l, err := net.Listen("tcp", relaytest.OwnAddress())
	if err != nil {
		tb.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	s := &Server{tb: tb, bin: bin, args: args, URL: "nats://" + address}
	if s.host, s.port, err = net.SplitHostPort(address); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	s.Restart()
	return s
}

// find reports where Debian puts it too, which is not in everybody's PATH.
func find() (string, error) {
	path, err := exec.LookPath("nats-server")
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/nats-server")
	}
	return path, err
}

func missing(tb testing.TB, err error) {
	tb.Helper()
	text := fmt.Sprintf("%v (make nats-deps installs it)", err)
	if os.Getenv(Required) != "" {
		tb.Fatal(text)
	}
	notrun.Skip(tb, text)
}

// Restart runs the server again, on the same port, and waits until it answers.
func (s *Server) Restart() {
	s.tb.Helper()
	log := &strings.Builder{}
	s.cmd = exec.Command(s.bin, append([]string{"-a", s.host, "-p", s.port}, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	ended := make(chan struct{})
	s.ended = ended
	go func(cmd *exec.Cmd) { _ = cmd.Wait(); close(ended) }(s.cmd)
	for deadline := time.Now().Add(2 * time.Minute); ; {
		conn, err := net.Dial("tcp", net.JoinHostPort(s.host, s.port))
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ended:
			s.tb.Fatalf("nats-server ended: %s", log)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.tb.Fatalf("nats-server does not answer: %v", err)
		}
	}
}

// Kill ends the server at once, as a crash would, and waits until it is gone: one
// that is about to go still takes connections.
func (s *Server) Kill() {
	s.signal(syscall.SIGKILL)
	if s.ended != nil {
		<-s.ended
	}
}

// Hang stops the server without closing its connections; Continue lets it go
// on.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Continue lets a server go on that hangs.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.tb.Errorf("signal nats-server: %v", err)
	}
}

// Subscribe connects and returns what comes at a subject. It goes on over
// restarts.
func (s *Server) Subscribe(subject string, options ...nats.Option) <-chan *nats.Msg {
	s.tb.Helper()
	nc, err := nats.Connect(s.URL, append(options, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))...)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(nc.Close)
	messages := make(chan *nats.Msg, 1<<14)
	if _, err := nc.ChanSubscribe(subject, messages); err != nil {
		s.tb.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		s.tb.Fatal(err)
	}
	return messages
}
