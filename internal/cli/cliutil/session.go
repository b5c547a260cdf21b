package cliutil

import (
	"context"
	"engramd/internal/platform/files"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/platform/processes"
)

// Source is stamped into memories that engramctl writes.
const Source = "engramctl"

// Patiently has every relay waited for: the result rests on all of them.
func Patiently(o *session.Options) { o.All = true }

// Configured takes relays that the command line names for those of the profile: a
// harness starts the program with them.
func Configured(o *session.Options) { o.Client.Named = false }

// Session opens the session of the pair that is configured. It asks for the password
// of an encrypted key, and no relay yet. Close it at the end.
func (e *Env) Session(ctx context.Context, with ...func(*session.Options)) (*session.Session, error) {
	s, err := e.Settings()
	if err != nil {
		return nil, err
	}
	if s.Owner == "" && s.Agent == "" {
		return nil, exit.Usagef("whose memory? An agent names its owner (--owner or ENGRAM_OWNER); an owner names the agent to read (--agent or ENGRAM_AGENT)")
	}
	opened, _, err := KeySession(ctx, e, append(with, func(o *session.Options) { o.Owner, o.Agent = s.Owner, s.Agent })...)
	return opened, err
}

// KeySession is Env.Session of the key alone, without a pair.
func KeySession(ctx context.Context, e *Env, with ...func(*session.Options)) (*session.Session, settings.Settings, error) {
	id, o, s, err := e.clientOptions(ctx)
	if err != nil {
		return nil, s, err
	}
	profile, _ := e.Profile() // the settings are made of it
	all := session.Options{Identity: id, Client: o, NoDiscovery: e.Flags.NoDiscovery || s.Named || s.Discovery == "off", Discovers: s.Discovery != "", All: e.Flags.Strict,
		Timeout: e.Flags.Timeout, Slack: e.Slack, Bound: e.Bounded, Progress: e.Progress.Reach,
		Cache: func() (string, error) { return CacheFolder(e) }, State: StateFolder(e), NoDisk: e.Flags.NoMirror || s.NoMirror, Folder: Folder(e),
		Source: Source, Harness: e.Vars["CLAUDE_CODE_SESSION_ID"], Dream: profile.Dream, Report: e.Report, Note: e.NoteLine,
		Ancestors: func() (ids []string, harness string) {
			above := ancestors(e)
			for _, p := range above {
				ids = append(ids, p.ID)
			}
			return ids, harnessAbove(above)
		}}
	if e.Flags.Verbose {
		all.Detail = e.NoteLine
	}
	for _, change := range with {
		change(&all)
	}
	all.Client.Patient = all.All
	opened, err := session.Open(all)
	if err != nil {
		return nil, s, exit.BadUsage(err)
	}
	return opened, s, nil
}

// WithMemory runs do on the pair's memory, within the time limit, which begins once
// the key is there.
func WithMemory(ctx context.Context, e *Env, do func(ctx context.Context, m *session.Memory) error, with ...func(*session.Options)) error {
	return within(ctx, e, false, do, with...)
}

// WithOwnMemory is WithMemory for commands that write: an owner is told at once.
func WithOwnMemory(ctx context.Context, e *Env, do func(ctx context.Context, m *session.Memory) error) error {
	return within(ctx, e, true, do)
}

func within(ctx context.Context, e *Env, write bool, do func(ctx context.Context, m *session.Memory) error, with ...func(*session.Options)) error {
	s, err := e.Session(ctx, with...)
	if err != nil {
		return err
	}
	defer s.Close()
	if write && !s.Memory.Writable() {
		return client.ErrReadOnly
	}
	ctx, done := e.Bounded(ctx)
	defer done()
	if err := s.Discover(ctx); err != nil && !client.Silent(err) { // what this machine has may do
		return err
	}
	if err := do(ctx, s.Memory); err != nil || !write {
		return err
	}
	s.Outbox.Rest(ctx)
	return nil
}

// WithCopy runs do on the pair's local copy, caught up within a budget: see
// session.Copy.CatchUp.
func WithCopy(ctx context.Context, e *Env, budget time.Duration, do func(ctx context.Context, s *session.Session, l *session.Copy) error) error {
	s, err := e.Session(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.WithCopy(ctx, budget, func(ctx context.Context, l *session.Copy) error { return do(ctx, s, l) })
}

// Client makes a client of the key and the relays that are configured. It asks
// for the password of an encrypted key, and connects to nothing yet. Close the
// client at the end.
func (e *Env) Client(ctx context.Context) (*client.Client, settings.Settings, error) {
	id, o, s, err := e.clientOptions(ctx)
	if err != nil {
		return nil, s, err
	}
	o.Patient = e.Flags.Strict
	return client.New(id, o), s, nil
}

// clientOptions are the key, and what the configuration says of the relays.
func (e *Env) clientOptions(ctx context.Context) (id client.Identity, o client.Options, s settings.Settings, err error) {
	if s, err = e.Settings(); err != nil {
		return id, o, s, err
	}
	if len(s.Relays) == 0 {
		return id, o, s, exit.Usagef("no relay is configured: give --relay, set ENGRAM_RELAYS, or name relays in a profile")
	}
	if id, err = e.Identity(ctx, s); err != nil {
		return id, o, s, err
	}
	ignore, err := IgnoredRelays(e)
	return id, client.Options{Relays: s.Relays, Timeout: e.Flags.Timeout, Grace: e.Slack, Trace: e.Trace(), Near: e.Near,
		Ignore: ignore, WriteListed: s.Discovery == "write", Decider: s.Decider, Owner: s.Own.Owner, Agent: s.Own.Agent, Named: s.Named || e.Flags.NoDiscovery}, s, err
}

// IgnoredPath returns the file of ignored relays.
func IgnoredPath(e *Env) string {
	path, _ := e.ConfigPath()
	return filepath.Join(filepath.Dir(path), "ignored-relays")
}

// IgnoredRelays reads it; without a file there are none.
func IgnoredRelays(e *Env) ([]string, error) {
	text, err := os.ReadFile(IgnoredPath(e))
	if files.Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ignored relays: %w", err)
	}
	return strings.Fields(string(text)), nil
}

// between are programs that stand between a harness and what it starts.
var between = []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox", "cmd", "powershell", "pwsh", "env", "nice", "timeout"}

// ancestors are the processes above this one, the nearest first.
func ancestors(e *Env) []processes.Process {
	if e.Ancestors != nil {
		return e.Ancestors()
	}
	return processes.Above()
}

// harnessAbove is the process that started a hook; "" is not known.
func harnessAbove(all []processes.Process) string {
	for _, p := range all {
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(p.Name), ".exe"))
		if !slices.Contains(between, strings.TrimPrefix(name, "-")) {
			return p.ID
		}
	}
	return ""
}
