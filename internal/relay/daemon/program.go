package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/plugin"
)

// programOptions returns those of the write policy program.
func (r *rules) programOptions(cfg *config.Config) plugin.Options {
	return plugin.Options{
		Command: cfg.Write.Program, Version: fileVersions(cfg.Write.Program), Timeout: cfg.Write.ProgramTimeout,
		Env:    withoutSecrets(r.env, cfg.SecretVariables()),
		Reader: relay.ReaderFrom, Addr: relay.AddrFrom, Metrics: r.metrics.Program, Log: r.log,
	}
}

// askProgram asks the write policy program, after the rates. What it refuses is
// not stored, so that the author gets back what was charged: anybody may send
// their events again.
func (r *rules) askProgram(ctx context.Context, ev *nostr.Event) (rejected bool, msg string) {
	if rejected, msg = r.program.RejectEvent(ctx, ev); rejected {
		r.notStored(ctx, ev)
	}
	return rejected, msg
}

// notStored gives the author back what was charged.
func (r *rules) notStored(ctx context.Context, ev *nostr.Event) {
	r.policy.NotStored(fairness.From(ctx), ev)
}

// withoutSecrets returns an environment without the daemon's own options and
// the variables in which keys are.
func withoutSecrets(env, secret []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "ENGRAMD_") || slices.Contains(secret, name)
	})
}

// fileVersions changes when one of the files that a command names does, so that
// a reload starts a program anew that was edited.
func fileVersions(command []string) string {
	var text strings.Builder
	for i, name := range command {
		if i == 0 {
			if path, err := exec.LookPath(name); err == nil {
				name = path
			}
		}
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			fmt.Fprintf(&text, "%d:%d:%d;", i, st.Size(), st.ModTime().UnixNano())
		}
	}
	return text.String()
}
