package rig

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"engramd/internal/e2e/cluster/natsd/build"
)

const (
	startLimit = 3 * time.Minute // until a process listens, on a busy machine
	built      = "CLUSTER_NATSD" // the variable with the path of a natsd that is built already
)

// server is one NATS server: its folder and, while it runs, its process.
type server struct {
	t        T
	name     string
	dir      string
	settings Settings

	cmd    *exec.Cmd
	killed bool          // by kill
	ended  chan struct{} // closed when cmd has ended
	at     addresses
}

// addresses is what natsd prints.
type addresses struct {
	Client  string `json:"client"`
	Cluster string `json:"cluster"`
	Monitor string `json:"monitor"`
}

// data is where it stores.
func (s *server) data() string { return cmp.Or(s.settings.Data, filepath.Join(s.dir, "data")) }

func (s *server) config() string { return filepath.Join(s.dir, "nats.conf") }

// run starts the process and waits until it listens.
func (s *server) run() {
	s.t.Helper()
	bin, err := Natsd()
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	s.cmd = exec.Command(bin, s.config())
	s.cmd.Stderr = os.Stderr
	s.cmd.Env = append(os.Environ(), build.Clock+"="+s.settings.Clock.String())
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.t.Fatalf("start %s: %v", s.name, err)
	}
	s.killed = false
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	line := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			line <- lines.Text()
		}
		for lines.Scan() {
		}
		_ = cmd.Wait()
		close(ended)
	}()
	select {
	case text := <-line:
		if err := json.Unmarshal([]byte(text), &s.at); err != nil {
			s.t.Fatalf("%s printed %q", s.name, text)
		}
	case <-ended:
		s.t.Fatalf("%s ended: %s", s.name, s.log())
	case <-time.After(startLimit):
		s.t.Fatalf("%s does not listen: %s", s.name, s.log())
	}
}

func (s *server) running() bool {
	if s.cmd == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// kill ends the process at once and waits until it is gone.
func (s *server) kill() {
	if s.cmd != nil {
		s.killed = true
		s.signal(syscall.SIGKILL)
		<-s.ended
	}
}

func (s *server) signal(sig syscall.Signal) {
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Errorf("signal %v to %s: %v", sig, s.name, err)
	}
}

// log returns the end of what the server logged.
func (s *server) log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text[max(0, len(text)-4000):])
}

// binary is natsd, built once for this process.
var binary struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// Natsd is the path of the program that runs a server.
func Natsd() (string, error) {
	if path := os.Getenv(built); path != "" {
		return path, nil
	}
	binary.once.Do(func() {
		if binary.dir, binary.err = os.MkdirTemp("", "engramd-natsd-"); binary.err != nil {
			return
		}
		binary.path = filepath.Join(binary.dir, "natsd")
		binary.err = build.Natsd(binary.path)
	})
	return binary.path, binary.err
}

// Clean removes what was built: TestMain ends with it.
func Clean() error {
	if binary.dir == "" {
		return nil
	}
	return os.RemoveAll(binary.dir)
}
