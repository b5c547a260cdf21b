// Package try runs this program as harnesses do.
package try

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"engramd/internal/cli/cliutil"
)

// maxSaid is how much of a program's answer is read, in bytes.
const maxSaid = 1 << 20

// Sample is what a harness says to a hook.
func Sample(e *cliutil.Env) string {
	sample, _ := json.Marshal(map[string]string{"session_id": "engramctl-doctor", "cwd": e.Home(), "source": "startup", "prompt": "What do we know of this?"}) // texts always can be
	return string(sample)
}

// OfProfile puts a profile before the words of a command.
func OfProfile(profile string, words ...string) []string {
	if profile == "" {
		return words
	}
	return append([]string{"--profile", profile}, words...)
}

// Run runs one of our programs with a text on its stdin and returns what it says:
// all of it, or its first line. It has a state of its own, so that nothing is noted
// of a session that there never was, and it ends before Run returns.
func Run(ctx context.Context, e *cliutil.Env, stdin string, line bool, program string, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "engramctl-try-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // nothing of worth
	ctx, cancel := context.WithTimeout(ctx, e.Flags.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	// What ENGRAM_HOOKS switches off was said. With "try" nothing is signed or accepted.
	cmd.Env = append(slices.DeleteFunc(slices.Clone(e.System.Env), func(kv string) bool { return strings.HasPrefix(kv, "ENGRAM_HOOKS=") }), "XDG_STATE_HOME="+dir, "ENGRAM_HOOKS=try")
	if path, named := e.ConfigPath(); named { // a harness is to have it too
		cmd.Env = append(cmd.Env, "ENGRAM_CONFIG="+path)
	}
	cmd.WaitDelay, cmd.Dir = time.Second, e.Dir
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	go func() {
		_, _ = in.Write([]byte(stdin)) // a program that does not read it says nothing either
		if !line {
			_ = in.Close()
		}
	}()
	var said bytes.Buffer
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxSaid)
	for said.Len() < maxSaid && lines.Scan() {
		said.Write(append(lines.Bytes(), '\n'))
		if line {
			break
		}
	}
	_ = in.Close()
	err = cmd.Wait()
	if ctx.Err() != nil {
		return "", fmt.Errorf("it did not end within %v", e.Flags.Timeout)
	}
	if err != nil && (!line || said.Len() == 0) {
		return "", fmt.Errorf("it failed: %w", err)
	}
	return said.String(), nil
}
