package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
)

// MaxHookLog is how large the log of hooks grows before it is begun anew; the one
// before is kept.
const MaxHookLog = 128 << 10

// hookLog writes one line on a hook. It holds nothing that was read or told, and
// that it cannot be written is nobody's concern.
func hookLog(env *cliutil.Env, began time.Time, e hook.Event, h hook.Harness, o hookOutcome) {
	aside(env, e, began, func() { writeHookLog(env, began, e, h, o) }) // the disk may hang
}

func writeHookLog(env *cliutil.Env, began time.Time, e hook.Event, h hook.Harness, o hookOutcome) {
	dir := cliutil.StateFolder(env)
	if !filepath.IsAbs(dir) || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	path := filepath.Join(dir, "hook.log")
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return
		}
		if info.Size() > MaxHookLog {
			_ = os.Rename(path, path+".old")
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	outcome := o.class
	if outcome == "" {
		outcome = "ok"
	}
	// One write: of several hooks none tears another's line.
	_, _ = f.WriteString(fmt.Sprintf("%s %s %s session=%s outcome=%q bytes=%d took=%dms\n", began.UTC().Format(time.RFC3339),
		orDash(string(e)), orDash(string(h)), orDash(session.Name(o.session)), outcome, o.bytes, time.Since(began).Milliseconds()))
}

func orDash(s string) string {
	if s == "" || strings.ContainsAny(s, " \n") {
		return "-"
	}
	return s
}
