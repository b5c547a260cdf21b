package relaytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// startLimit is how long a child may take until it is ready: migrations and a
// recovery of the WAL under the race detector on a busy machine included.
const startLimit = 3 * time.Minute

// stopLimit is how long a test waits for the end of a child. Another test checks
// that it comes within 10 s of SIGTERM.
const stopLimit = time.Minute

// runLimit is how long another command may take.
const runLimit = 10 * time.Minute

// endTime is what a child gets to end gracefully, unless a test says otherwise: by
// default it has 10 s, which a busy machine may take.
const endTime = "ENGRAMD_TIMEOUTS_SHUTDOWN=50s"

// Options describe a child.
type Options struct {
	Build  Build
	Data   string   // data folder; empty: a new one, removed with the test
	Config string   // text of a TOML file; empty: none
	Env    []string // KEY=value, over the cleaned environment of the test
	Args   []string // further flags of serve
	Listen string   // empty: 127.0.0.1:0
}

// Child is a running daemon.
type Child struct {
	URL     string // ws://HOST:PORT
	Metrics string // http://HOST:PORT/metrics
	Data    string
	Config  string // path of the configuration file, empty without one
	Log     *Log

	t    T
	bin  string
	env  []string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	code int           // exit code; -1 when killed by a signal. Read after done.
}

// Start runs `engramd serve` and waits until it is ready. The child is killed
// when the test ends, and a data race or a panic in its log fails the test.
func Start(t T, o Options) *Child {
	t.Helper()
	c, err := Launch(t, o)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return c
}

// Launch is Start for tests that expect the start to fail.
func Launch(t T, o Options) (*Child, error) {
	c, err := Begin(t, o)
	if err != nil {
		return nil, err
	}
	return c, c.awaitReady()
}

// Begin is Launch for a child that may stay up and not become ready.
func Begin(t T, o Options) (*Child, error) {
	bin, err := Binary(o.Build)
	if err != nil {
		return nil, err
	}
	c := &Child{t: t, bin: bin, Data: o.Data, Log: newLog(), done: make(chan struct{})}
	if c.Data == "" {
		c.Data = filepath.Join(t.TempDir(), "data")
	}
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	args := []string{"serve", "--listen", listen, "--metrics-listen", "127.0.0.1:0", "--data", c.Data}
	if o.Config != "" {
		c.Config = filepath.Join(t.TempDir(), "engramd.toml")
		if err := os.WriteFile(c.Config, []byte(o.Config), 0o600); err != nil {
			return nil, fmt.Errorf("write configuration: %w", err)
		}
		args = append(args, "--config", c.Config)
	}
	c.env = append(append(CleanEnv(), endTime), o.Env...)
	c.cmd = exec.Command(bin, append(args, o.Args...)...)
	c.cmd.Env = c.env
	c.cmd.Stdout, c.cmd.Stderr = c.Log, c.Log
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("run engramd: %w", err)
	}
	go c.reap()
	t.Cleanup(c.finish)
	return c, nil
}

// CleanEnv is the environment of this process without options of engramd.
func CleanEnv() []string {
	env := []string{"GORACE=atexit_sleep_ms=0"} // or every end takes a second
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ENGRAMD_") {
			env = append(env, kv)
		}
	}
	return env
}

func (c *Child) reap() {
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		c.Log.note("wait: " + err.Error())
	}
	c.code = c.cmd.ProcessState.ExitCode()
	c.Log.end()
	close(c.done)
}

func (c *Child) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	line, err := c.Log.Wait(ctx, func(line string) bool {
		return strings.Contains(line, "ready") && strings.Contains(line, "url=")
	})
	if err != nil {
		c.kill()
		return fmt.Errorf("engramd did not become ready: %w\n%s", err, c.Log.Text())
	}
	c.URL, c.Metrics = field(line, "url="), field(line, "metrics=")
	if !strings.HasPrefix(c.URL, "ws://") {
		return fmt.Errorf("no url=ws://… in the ready line %q", line)
	}
	return nil
}

// field returns the value of key= in a log line, without quotes.
func field(line, key string) string {
	_, rest, ok := strings.Cut(" "+line, " "+key)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, " ")
	return strings.Trim(value, `"`)
}

// HTTP returns the http:// URL of a path on the relay's port.
func (c *Child) HTTP(path string) string {
	return "http" + strings.TrimPrefix(c.URL, "ws") + path
}

// PID returns the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Signal sends sig. A process that has ended already is no error.
func (c *Child) Signal(sig syscall.Signal) {
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Errorf("signal %v: %v", sig, err)
	}
}

// Stop asks the child to end (SIGTERM) and returns its exit code and how long
// it took. It fails the test when it does not end at all.
func (c *Child) Stop() (code int, took time.Duration) {
	c.t.Helper()
	start := time.Now()
	c.Signal(syscall.SIGTERM)
	return c.Exit(), time.Since(start)
}

// Exit waits for the end of the process and returns its exit code.
func (c *Child) Exit() int {
	c.t.Helper()
	select {
	case <-c.done:
		return c.code
	case <-time.After(stopLimit):
		c.kill()
		c.t.Fatalf("engramd did not end within %v\n%s", stopLimit, c.Log.Text())
		return -1
	}
}

// Kill ends the child with SIGKILL and waits until it is gone.
func (c *Child) Kill() {
	c.kill()
}

func (c *Child) kill() {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.Log.note("kill: " + err.Error())
	}
	<-c.done
}

// finish runs when the test ends.
func (c *Child) finish() {
	c.kill()
	text := c.Log.Text()
	for _, bad := range []string{"WARNING: DATA RACE", "panic:", "fatal error:"} {
		if strings.Contains(text, bad) {
			c.t.Errorf("engramd's log has %q:\n%s", bad, text)
			return
		}
	}
}

// Result is what a command of the operator gave.
type Result struct {
	Code   int
	Stdout []byte
	Stderr string
}

// Run runs another command of the same binary (export, check, …) with the
// child's environment. stdin may be nil.
func (c *Child) Run(stdin []byte, args ...string) Result {
	c.t.Helper()
	return run(c.t, c.bin, c.env, stdin, args)
}

// RunBinary runs a command without a child.
func RunBinary(t T, b Build, env []string, stdin []byte, args ...string) Result {
	t.Helper()
	bin, err := Binary(b)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return run(t, bin, append(CleanEnv(), env...), stdin, args)
}

func run(t T, bin string, env []string, stdin []byte, args []string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env = env
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("engramd %v: %v", args, err)
	}
	return Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.Bytes(), Stderr: stderr.String()}
}
