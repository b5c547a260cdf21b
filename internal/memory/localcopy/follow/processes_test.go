package follow

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/localcopy"
)

// The variables by which a child knows what to do.
const (
	childDir    = "FOLLOW_CHILD_DIR"
	childRelays = "FOLLOW_CHILD_RELAYS"
	childServes = "FOLLOW_CHILD_SERVES"
)

// beChild is one of the processes of TestEightProcesses: it follows, or catches
// up for ever, and says each time that it did.
func beChild(t *testing.T, dir string) {
	c, m := memory(t, enough, strings.Fields(os.Getenv(childRelays))...)
	kept := open(t, m, dir, nil)
	f := followerOf(c, m, kept, time.Now)
	if os.Getenv(childServes) != "" {
		go f.Run(t.Context())
	}
	for !t.Failed() {
		if os.Getenv(childServes) == "" {
			if _, err := f.CatchUp(t.Context(), Ask{}); err != nil {
				t.Fatal(err)
			}
		} else {
			f.Await(t.Context(), 0)
		}
		shown(t, kept, func(localcopy.Head) {})
		fmt.Println("turn")
	}
}

// child is a process with what it says.
type child struct {
	cmd   *exec.Cmd
	said  strings.Builder
	ended chan struct{}
}

func spawn(t *testing.T, dir string, urls []string, serves bool, turns chan<- struct{}) *child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &child{cmd: exec.Command(self, "-test.run=^TestEightProcesses$"), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childDir+"="+dir, childRelays+"="+strings.Join(urls, " "))
	if serves {
		p.cmd.Env = append(p.cmd.Env, childServes+"=1")
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if line := lines.Text(); line != "turn" {
				fmt.Fprintln(&p.said, line)
			}
			select {
			case turns <- struct{}{}:
			default:
			}
		}
		_ = p.cmd.Wait()
	}()
	return p
}

// kill ends a child at once; it must not have ended by itself.
func (p *child) kill(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Kill()
	<-p.ended
	if text := p.said.String(); strings.Contains(text, "FAIL") || strings.Contains(text, "panic") {
		t.Errorf("a process failed:\n%s", text)
	}
}

// TestEightProcesses share one copy, half of them as servers, and are killed
// while relays change. In the end it is whole, small, and says what the relays
// have.
func TestEightProcesses(t *testing.T) {
	if dir := os.Getenv(childDir); dir != "" {
		beChild(t, dir)
		return
	}
	w, dir := newWorld(t, 2), t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	var lost []*nostr.Event
	turns := make(chan struct{}, 1)
	var processes []*child
	for i := range 8 {
		processes = append(processes, spawn(t, dir, w.urls(), i%2 == 0, turns))
	}
	steps := 60
	if os.Getenv("ENGRAMD_SOAK") != "" {
		steps = 600
	}
	for step := range steps {
		for range 3 {
			w.change(r, &lost, step)
		}
		select {
		case <-turns:
		case <-time.After(enough):
			t.Fatal("no process gets anywhere")
		}
		if step%2 == 0 {
			i := r.IntN(len(processes))
			processes[i].kill(t)
			processes[i] = spawn(t, dir, w.urls(), r.IntN(2) == 0, turns)
		}
	}
	for _, p := range processes {
		p.kill(t)
	}
	c, m := memory(t, enough, w.urls()...)
	kept := open(t, m, dir, nil)
	f := followerOf(c, m, kept, time.Now)
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	out, err := f.CatchUp(ctx, Ask{})
	if err != nil || out[0].Err != nil || out[1].Err != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	l, _, err := m.ListAll(t.Context())
	dropBehind(t, kept)
	if got := shown(t, kept, func(localcopy.Head) {}); err != nil || got != told(l) {
		t.Errorf("%v: the copy says\n%s\nthe relays\n%s", err, got, told(l))
	}
	kept.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 8<<20 || strings.Contains(file, "aside") {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}
