package thinker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// long is a limit that no test reaches; patience how long one waits for a program
// that has to be killed.
const long = time.Minute

// rig is a child with a place of its own; processes that it starts are found by a
// variable.
type rig struct {
	*Child
	mark, temp string
}

func newRig(t *testing.T, command string) rig {
	t.Helper()
	r := rig{mark: fmt.Sprintf("THINK_TEST=%s-%d", t.Name(), time.Now().UnixNano()), temp: t.TempDir()}
	r.Child = &Child{Command: command, Lock: filepath.Join(t.TempDir(), "think.lock"), Temp: r.temp, Limit: long, Grace: 50 * time.Millisecond,
		Env: append(os.Environ(), r.mark)}
	t.Cleanup(func() { r.nothingLeft(t) })
	return r
}

// nothingLeft fails the test if a process or a folder is.
func (r rig) nothingLeft(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(r.temp); err != nil || len(left) > 0 {
		t.Errorf("folders that are left: %v, %v", left, err)
	}
	names, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(r.mark)) {
			t.Errorf("a process is left: %s", name)
		}
	}
	if stray := (&family{cmd: shell("")}).orphans(); len(stray) > 0 {
		t.Errorf("orphans are left: %v", stray)
	}
}

const answer = `printf '%s' '` + good + `'`

// TestChild: a program's answer counts if it ends well, whatever else it does, and
// nothing of it stays.
func TestChild(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		limit   time.Duration
		err     error // nil: its answer counts
		why     string
	}{
		"good":                      {"cat >/dev/null; " + answer, long, nil, ""},
		"closes stdin":              {"exec 0<&-; " + answer, long, nil, ""},
		"does not read":             {answer, long, nil, ""},
		"complains and answers":     {"echo trouble >&2; " + answer, long, nil, ""},
		"leaves one behind":         {"sleep 3600 & " + answer, long, nil, ""},
		"leaves a session behind":   {"(setsid sh -c 'sleep 3600; true' &) ; " + answer, long, nil, ""},
		"daemon, deaf, holds pipes": {`(setsid sh -c 'trap "" TERM HUP INT; (setsid sh -c "trap \"\" TERM; while :; do sleep 3600; done" &); while :; do sleep 3600; done' &) ; ` + answer, long, nil, ""},
		"hangs":                     {"sleep 3600", 200 * time.Millisecond, ErrFailed, "did not end within 200ms"},
		"hangs and is deaf":         {"trap '' TERM; while :; do sleep 3600; done", 200 * time.Millisecond, ErrFailed, "did not end"},
		"hangs with a daemon":       {"(setsid sleep 3600 &); trap '' TERM; cat; sleep 3600", 200 * time.Millisecond, ErrFailed, "did not end"},
		"answers and hangs":         {answer + "; sleep 3600", 200 * time.Millisecond, ErrFailed, "did not end"},
		"garbage":                   {"head -c 4096 /dev/urandom", long, ErrAnswer, ""},
		"10 MiB":                    {"head -c 10485760 /dev/zero", long, ErrAnswer, "longer than"},
		"no end of it":              {"yes '{'", long, ErrAnswer, "longer than"},
		"no end of it, deaf":        {"trap '' TERM PIPE; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", long, ErrAnswer, "longer than"},
		"half":                      {answer + " | head -c 20", long, ErrAnswer, "in the middle"},
		"two plans":                 {answer + "; " + answer, long, ErrAnswer, "two objects"},
		"nothing":                   {"true", long, ErrAnswer, "empty"},
		"fails after its answer":    {answer + "; echo 'no more credit' >&2; exit 1", long, ErrFailed, "no more credit"},
		"killed":                    {answer + "; kill -9 $$", long, ErrFailed, "killed"},
		"not there":                 {"engram-no-such-program -p", long, ErrFailed, "not found"},
		"no end of complaints":      {"trap '' PIPE; head -c 3000000 /dev/zero >&2; echo end >&2; exit 3", long, ErrFailed, "exit status 3"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.command)
			r.Limit = c.limit
			ops, err := r.Think(t.Context(), strings.Repeat("a plan\n", 30_000))
			if c.err == nil {
				if err != nil || len(ops) != 1 {
					t.Fatalf("%v, %v", ops, err)
				}
				return
			}
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.why) || ops != nil {
				t.Fatalf("%v, %v; want %v with %q", ops, err, c.err, c.why)
			}
		})
	}
}

// TestChildIsGivenThePlan: all of it, on stdin, and more than there may be is not
// given.
func TestChildIsGivenThePlan(t *testing.T) {
	plan := strings.Repeat("é plan\n", MaxPlan/8)
	r := newRig(t, fmt.Sprintf(`test "$(wc -c)" = %d && %s`, len(plan), answer))
	if _, err := r.Think(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Think(t.Context(), strings.Repeat("x", MaxPlan+1)); !errors.Is(err, ErrFailed) {
		t.Fatalf("a plan that is too long: %v", err)
	}
}

// TestChildEnvironment: nothing of ours but hooks=off and a configuration that is
// not there; an empty folder, and no terminal.
func TestChildEnvironment(t *testing.T) {
	out := filepath.Join(t.TempDir(), "seen")
	r := newRig(t, fmt.Sprintf(`{ env; echo "FOLDER $(pwd) $(ls -A | wc -l) $(stat -c %%a .)"; (: </dev/tty) 2>/dev/null && echo TERMINAL; test -e "$ENGRAM_CONFIG" && echo CONFIGURED; } > %s; %s`, out, answer))
	r.Env = append(r.Env, "ENGRAM_KEY=nsec1xyz", "ENGRAM_KEY_FILE=/k", "ENGRAM_KEY_PASSWORD_FILE=/p", "ENGRAM_LLM_KEY=sk-1", "engram_embed_key=sk-2",
		"ENGRAM_OWNER=npub1", "ENGRAM_PROFILE=p", "ENGRAM_HOOKS=on", "CREDENTIALS_DIRECTORY=/run/c", "OLDPWD=/old", "KEPT=yes")
	if _, err := r.Think(t.Context(), "a plan"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		name, value, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(strings.ToUpper(name), "ENGRAM_"):
			ours = append(ours, name)
		case name == "CREDENTIALS_DIRECTORY", name == "OLDPWD", line == "TERMINAL", line == "CONFIGURED":
			t.Errorf("it has %s", line)
		case name == "PWD" && filepath.Dir(value) != r.temp:
			t.Errorf("PWD is %s, want a folder in %s", value, r.temp)
		case strings.HasPrefix(line, "FOLDER ") && (!strings.HasPrefix(line, "FOLDER "+r.temp) || !strings.HasSuffix(line, " 0 700")):
			t.Errorf("its folder: %s", line)
		}
	}
	if len(ours) != 2 || !strings.Contains(string(text), "ENGRAM_HOOKS=off\n") || !strings.Contains(string(text), "\nKEPT=yes\n") || !strings.Contains(string(text), "FOLDER ") {
		t.Errorf("variables of ours: %v in\n%s", ours, text)
	}
}

// TestChildIsCancelled: who waits for it may stop waiting, and it ends.
func TestChildIsCancelled(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	if err := os.WriteFile(started, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// It opens a pipe for writing, which ends the test's reading once it has begun.
	pipe := started + ".pipe"
	r := newRig(t, fmt.Sprintf("echo begun > %s; sleep 3600", pipe))
	if err := mkfifo(pipe); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := r.Think(ctx, "a plan")
		done <- err
	}()
	if _, err := os.ReadFile(pipe); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestChildFolderLeftBehind: what a process that was killed left is removed by the
// next one under the same lock, and nobody else's is.
func TestChildFolderLeftBehind(t *testing.T) {
	r := newRig(t, answer)
	left, err := emptyFolder(r.temp, r.Lock)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := emptyFolder(r.temp, r.Lock+"2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Think(t.Context(), "a plan"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if err := os.Remove(other); err != nil {
		t.Errorf("another lock's: %v", err)
	}
}

// TestComplaint: stderr is shown if the program fails, its end, without secrets
// and without what a terminal obeys.
func TestComplaint(t *testing.T) {
	const token = "sk-ant-api03-" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQr-AbCdEfAA"
	r := newRig(t, `printf 'first\n\033[31mkey: `+token+` is bad\a\n' >&2; exit 1`)
	_, err := r.Think(t.Context(), "a plan")
	if err == nil || strings.Contains(err.Error(), "AbCdEf") || strings.ContainsAny(err.Error(), "\x1b\a") || !strings.Contains(err.Error(), "redacted") || !strings.Contains(err.Error(), "first") {
		t.Fatalf("%q", err)
	}
	if text := complaintOf([]byte(strings.Repeat("0123456789\n", 1000)+"end"), true); len(text) > shown+100 || !strings.HasSuffix(text, "end\n…") || !strings.HasPrefix(text, ". It said:\n…\n0123") {
		t.Fatalf("%d bytes: %q", len(text), text)
	}
	if text := complaintOf(nil, false); text != "" {
		t.Fatalf("%q", text)
	}
}

// TestOthersChildrenStay: whom the process started itself is none of the program's.
func TestOthersChildrenStay(t *testing.T) {
	other := shell("sleep 3600")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	r := newRig(t, "(setsid sleep 3600 &); "+answer)
	if _, err := r.Think(t.Context(), "a plan"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/exe", other.Process.Pid)); err != nil {
		t.Errorf("it is gone: %v", err)
	}
}

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }
