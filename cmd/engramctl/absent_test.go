package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/cli/root"
	"engramd/internal/e2e/relaytest"
)

// The states of a relay.
const (
	current = "answers" // it has the memory
	stale   = "stale"   // it has an old version
	empty   = "empty"
	fails   = "fails"
	hangs   = "hangs"
	none    = "none" // there is no such relay
)

var states = []string{current, stale, empty, fails, hangs}

// TestAbsentOnlyIfAllSaySo has every command that can say "absent" or "done",
// and every tool of MCP that can, ask a configured and a listed relay in each
// state, or without a list. A third one, configured, empty and up, knows the
// agent's list.
func TestAbsentOnlyIfAllSaySo(t *testing.T) {
	asked := newPlaces(t)
	for i, configured := range states {
		for j, listed := range append(states, none) {
			t.Run(configured+" and listed "+listed, func(t *testing.T) {
				t.Parallel()
				relays := []string{asked.url(empty), asked.url(configured)}
				if listed != none {
					relays[0] = asked.directory(t, asked.url(listed))
				}
				agents := uint64(10*i + j) // those that write, others at each try
				asked.tries(t, []string{configured, listed}, func(asked *places, wrong wrongly) {
					agents += 20_000
					asked.wantAll(t, cellOf(asked, relays, configured, listed), agents, wrong)
				})
			})
		}
	}
}

// wantAll has every command and every tool ask the relays of a cell, side by side:
// those that hang take their time. agents numbers the agents that write.
func (p *places) wantAll(t *testing.T, c cell, agents uint64, wrong wrongly) {
	var all sync.WaitGroup
	check := func(who identity, stdin string, want said, args []string) {
		all.Go(func() {
			got := p.runAs(t, who, c.relays, stdin, args...)
			if got.code != want.code || !strings.Contains(got.stdout, want.text) || want.text == "" && got.stdout != "" {
				wrong("%v: exit code %d, stdout %q; want %d, %q\n%s", args, got.code, got.stdout, want.code, want.text, got.stderr)
			}
		})
	}
	for _, q := range commandsThatSay {
		check(p.agent, "", q.want(c.found, c.partial), q.args)
	}
	check(p.owner, "", agentsSaid(cellOf(p, c.relays, c.configured, none)), []string{"agents", "ls"})
	writer, syncer := p.plantFor(t, c, 1000+agents), p.plantFor(t, c, 2000+agents)
	for _, q := range commandsThatWrite {
		check(writer, q.stdin, q.want(c), q.args)
	}
	check(syncer, "", syncSaid(c), []string{"sync"})
	all.Go(func() { p.wantTools(t, c, wrong) })
	all.Wait()
}

// said is how a command ends: its exit code, and text that stdout contains; ""
// is no output.
type said struct {
	code int
	text string
}

// whole is the end of a command that succeeds only if every relay answers: with
// text, or with the code nothing if there is no memory.
func whole(text string, nothing int) func(found string, partial bool) said {
	return func(found string, partial bool) said {
		switch {
		case partial:
			return said{4, ""}
		case found != "":
			return said{0, text}
		}
		return said{nothing, ""}
	}
}

// commandsThatSay are commands that read only, with how they end: found is "",
// current or stale; partial says that some relay did not answer.
var commandsThatSay = []struct {
	args []string
	want func(found string, partial bool) said
}{
	{[]string{"mem", "get", "notes"}, func(found string, partial bool) said { return orElse(found, partial, said{1, ""}) }},
	{[]string{"mem", "get", "notes", "--at", "now"}, func(found string, partial bool) said { return orElse(found, partial, said{1, ""}) }},
	{[]string{"mem", "diff", "notes"}, func(found string, partial bool) said { return orElse(found, partial, said{1, ""}) }},
	{[]string{"mem", "hash", "notes"}, func(found string, partial bool) said {
		s := orElse(found, partial, said{1, ""})
		if s.code == 0 {
			s.text = "\n"
		}
		return s
	}},
	{[]string{"mem", "get", "notes", "--strict"}, func(found string, partial bool) said {
		if partial {
			return said{4, ""}
		}
		return orElse(found, partial, said{1, ""})
	}},
	{[]string{"core"}, func(found string, partial bool) said {
		if found != "" && partial {
			return said{0, found + "\n(Not every relay answered"}
		}
		return orElse(found, partial, said{0, "Nothing is remembered yet"})
	}},
	{[]string{"core", "--strict"}, func(found string, partial bool) said {
		if partial {
			return said{4, ""}
		}
		return orElse(found, partial, said{0, "Nothing is remembered yet"})
	}},
	{[]string{"mem", "ls", "--all", "--strict"}, whole("mem/notes", 0)},
	{[]string{"mem", "ls"}, func(found string, partial bool) said {
		switch {
		case found != "":
			return said{0, "mem/notes"}
		case partial:
			return said{4, ""}
		}
		return said{0, ""}
	}},
	{[]string{"mem", "ls", "--at", "now", "--strict"}, whole("mem/notes", 0)},
	{[]string{"mem", "graph"}, func(found string, partial bool) said {
		s := orElse(found, partial, said{0, ""})
		if s.text != "" {
			s.text = "mem/notes"
		}
		return s
	}},
	{[]string{"snapshot", "create"}, whole("whole", 1)},
	{[]string{"mem", "log", "notes"}, func(found string, partial bool) said {
		s := orElse(found, partial, said{1, ""})
		if s.code == 0 {
			s.text = "* "
		}
		return s
	}},
	{[]string{"mem", "rm", "never"}, func(_ string, partial bool) said {
		if partial {
			return said{4, ""}
		}
		return said{1, ""}
	}},
}

// orElse is the end of a command that prints what it found, fails if a silent
// relay may have it, and says absent otherwise.
func orElse(found string, partial bool, absent said) said {
	switch {
	case found != "":
		return said{0, found}
	case partial:
		return said{4, ""}
	}
	return absent
}

// TestWritesStayWithTheConfigured writes beside a listed relay in each state:
// it goes to the configured ones alone and needs no listed one.
func TestWritesStayWithTheConfigured(t *testing.T) {
	asked := newPlaces(t)
	for _, listed := range states {
		t.Run("listed "+listed, func(t *testing.T) {
			t.Parallel()
			asked.tries(t, []string{listed}, func(asked *places, wrong wrongly) {
				home := relaytest.Start(t, relaytest.Options{}).URL
				asked.plantList(t, home, asked.url(listed))
				if got := asked.run(t, []string{home}, "mem", "set", "fresh", "written at home"); got.code != 0 {
					wrong("set: %d %s", got.code, got.stderr)
				}
				if got := asked.run(t, []string{home}, "mem", "get", "fresh"); got.code != 0 || got.stdout != "written at home" {
					wrong("get: %d %q %s", got.code, got.stdout, got.stderr)
				}
				if got := asked.run(t, []string{home}, "mem", "get", "fresh", "--relay", asked.url(listed)); got.code == 0 {
					wrong("it is on the listed relay: %q", got.stdout)
				}
				if got := asked.run(t, []string{home}, "mem", "rm", "fresh"); got.code != 0 {
					wrong("rm: %d %s", got.code, got.stderr)
				}
				want := 1
				if listed == fails || listed == hangs {
					want = 4
				}
				if got := asked.run(t, []string{home}, "mem", "get", "fresh"); got.code != want {
					wrong("get of what was removed: %d, want %d: %s", got.code, want, got.stderr)
				}
			})
		})
	}
}

// places are relays in each state, and the identities that ask them.
type places struct {
	urls         map[string]string
	agent, owner identity
	// patience is --timeout; 0 is long enough for all that answers. slack is what is
	// added to times within it.
	patience, slack time.Duration
}

// wrongly says what is wrong.
type wrongly func(format string, args ...any)

// identity is the environment variables that say whom a command runs as.
type identity []string

// identityOf returns the identity of a key; owner is "" unless it is an
// agent's.
func identityOf(t *testing.T, key relaytest.Key, owner string) identity {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(file, []byte(key.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return identity{"ENGRAM_KEY_FILE=" + file, "ENGRAM_OWNER=" + owner}
}

// tries calls do with a time limit for relays in these states. A relay that hangs
// takes all of it, so that it is short at first; it grows while something is
// wrong, because on a busy machine the other relays may need more.
func (p *places) tries(t *testing.T, states []string, do func(p *places, wrong wrongly)) {
	t.Helper()
	q := *p
	q.slack = slack
	hanging := slices.Contains(states, hangs)
	if hanging {
		q.patience, q.slack = 6*time.Second, 0
	}
	for {
		var mu sync.Mutex
		var all []string
		do(&q, func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, fmt.Sprintf(format, args...))
		})
		if len(all) == 0 {
			return
		}
		if !hanging || q.patience > time.Minute {
			t.Error(strings.Join(all, "\n"))
			return
		}
		t.Logf("with %v: %s", q.patience, strings.Join(all, "\n"))
		q.slack = q.patience
		q.patience *= 3
	}
}

func (p *places) url(state string) string { return p.urls[state] }

func newPlaces(t *testing.T) *places {
	t.Helper()
	p := &places{urls: map[string]string{}, agent: identityOf(t, relaytest.Agent(), relaytest.Owner().Pub), owner: identityOf(t, relaytest.Owner(), "")}
	now := time.Now().Unix()
	for state, at := range map[string]int64{current: now - 10, stale: now - 1000} {
		p.urls[state] = relaytest.Start(t, relaytest.Options{}).URL
		for _, slug := range []string{"core", "mem/notes"} {
			publish(t, p.urls[state], relaytest.Memory(relaytest.Agent(), relaytest.Owner().Pub, slug, state, at))
		}
	}
	p.urls[empty] = relaytest.Start(t, relaytest.Options{}).URL
	down := relaytest.Start(t, relaytest.Options{})
	down.Stop()
	p.urls[fails] = down.URL
	p.urls[hangs] = relaytest.Silent(t)
	return p
}

func publish(t *testing.T, url string, ev *nostr.Event) {
	t.Helper()
	c, err := relaytest.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if ok, err := c.Publish(ev); err != nil || !ok.True {
		t.Fatalf("publish: %v, %v", ok, err)
	}
}

func (p *places) plantList(t *testing.T, at, listed string) {
	t.Helper()
	publish(t, at, relaytest.Sign(relaytest.Agent(), 10002, time.Now().Unix(), "", nostr.Tag{"r", listed}))
}

// directory is a relay that knows a list and nothing else.
func (p *places) directory(t *testing.T, listed string) string {
	t.Helper()
	relay := relaytest.Start(t, relaytest.Options{}).URL
	p.plantList(t, relay, listed)
	return relay
}

// run runs engramctl as the agent.
func (p *places) run(t *testing.T, relays []string, args ...string) ctlResult {
	t.Helper()
	return p.runAs(t, p.agent, relays, "", args...)
}

func (p *places) runAs(t *testing.T, who identity, relays []string, stdin string, args ...string) ctlResult {
	t.Helper()
	var stdout, stderr bytes.Buffer
	m := p.mainAs(t, who, relays, args...)
	m.Stdin, m.Stdout, m.Stderr = strings.NewReader(stdin), &stdout, &stderr
	return ctlResult{code: m.Run(context.Background()), stdout: stdout.String(), stderr: stderr.String()}
}

// mainAs is engramctl without its streams.
func (p *places) mainAs(t *testing.T, who identity, relays []string, args ...string) *root.Main {
	t.Helper()
	return &root.Main{
		Args: append(slices.Clone(args), "--timeout", cmp.Or(p.patience, time.Minute).String()), Dir: t.TempDir(), KeyCost: 4, Slack: p.slack, Near: anywhere,
		Env: append([]string{"HOME=" + t.TempDir(), "ENGRAM_RELAYS=" + strings.Join(relays, ",")}, who...),
	}
}
