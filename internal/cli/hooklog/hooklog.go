// Package hooklog is the log of hooks beside the state: a line for each that ran, whether
// the state could be opened or not, without a word of prompts and memories.
package hooklog

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/platform/pattern"
)

const (
	// Max is how large the log grows before it is begun anew; the one before is kept.
	Max  = 128 << 10
	done = "ok"
	name = "hook.log"
)

// The reasons that more time would take away.
const (
	Late     = "late"
	SaidLate = "no input in time"
)

// Outcome is what the log says of a hook.
type Outcome struct {
	Class   string // why nothing was told; "" is done
	Session string
	Bytes   int // that were told
}

// Write writes the line of a hook. It holds nothing that was read or told, and that it
// cannot be written is nobody's concern.
func Write(env *cliutil.Env, began time.Time, e hook.Event, h hook.Harness, o Outcome) {
	dir := cliutil.StateFolder(env)
	if !filepath.IsAbs(dir) || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	path := filepath.Join(dir, name)
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return
		}
		if info.Size() > Max {
			_ = os.Rename(path, path+".old")
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	// One write: of several hooks none tears another's line.
	_, _ = f.WriteString(fmt.Sprintf("%s %s %s session=%s outcome=%q bytes=%d took=%dms\n", began.UTC().Format(time.RFC3339),
		orDash(string(e)), orDash(string(h)), orDash(session.Name(o.Session)), cmp.Or(o.Class, done), o.Bytes, time.Since(began).Milliseconds()))
}

func orDash(s string) string {
	if s == "" || strings.ContainsAny(s, " \n") {
		return "-"
	}
	return s
}

// prompted is the line of a prompt.
var prompted = pattern.Later(`^\S+ ` + string(hook.Prompt) + ` \S+ session=\S+ outcome="([a-z0-9 ]{1,40})" `)

// Silent counts the last prompts, at most so many, and those of them that were not
// answered, by the reason.
func Silent(env *cliutil.Env, most int) (why map[string]int, of int) {
	var lines []string
	for _, end := range []string{".old", ""} {
		path := filepath.Join(cliutil.StateFolder(env), name+end)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() <= 2*Max {
			text, _ := os.ReadFile(path) // of one that cannot be read nothing is known
			lines = append(lines, strings.Split(string(text), "\n")...)
		}
	}
	why = map[string]int{}
	for _, line := range slices.Backward(lines) {
		m := prompted().FindStringSubmatch(line)
		if m == nil || of == most {
			continue
		}
		if of++; m[1] != done {
			why[m[1]]++
		}
	}
	return why, of
}
