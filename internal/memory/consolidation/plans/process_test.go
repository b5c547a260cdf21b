//go:build unix

package plans

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	recallanswer "engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// workVariable makes the test's program a process that does something with plans and
// kills itself where it passes for the nth time: "what n owner dir relay...".
const workVariable = "ENGRAMD_TEST_PLANS"

func TestMain(m *testing.M) {
	if words := strings.Fields(os.Getenv(workVariable)); len(words) > 0 {
		n, _ := strconv.Atoi(words[1])
		if err := work(context.Background(), words[0], n, words[2], words[3], words[4:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(relaytest.Tests{M: m}.Run())
}

// mortal is the memory of a process that kills itself.
type mortal struct {
	*clientmemory.Memory
	left *int
}

func (m mortal) pass() {
	if *m.left--; *m.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // it does not get any further
	}
}

func (m mortal) Set(ctx context.Context, slug nipae.Slug, text string, o clientmemory.SetOptions) (client.Entry, client.Status, error) {
	m.pass()
	defer m.pass()
	return m.Memory.Set(ctx, slug, text, o)
}

func (m mortal) RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	m.pass()
	defer m.pass()
	return m.Memory.RemoveVersion(ctx, slug, base)
}

// listed is a source that asks relays each time.
type listed struct{ *clientmemory.Memory }

func (l listed) Read(ctx context.Context, do func(recallanswer.View) error) error {
	all, _, err := l.ListAll(ctx)
	if err != nil {
		return err
	}
	var held []recallanswer.Held
	for _, e := range all.Memories {
		held = append(held, recallanswer.Held{Head: recallanswer.Head{Slug: string(e.Slug), Size: e.Size, UpdatedAt: e.CreatedAt}, Text: e.Text})
	}
	source, err := recallanswer.Load(held, recallanswer.State{AsOf: testNow})
	if err != nil {
		return err
	}
	return source.Read(ctx, do)
}

// unhurried waits for a relay on a machine that is busy.
var unhurried = client.Options{Timeout: time.Minute}

// onRelays makes the plans of an agent for an owner by the real client and state.
func onRelays(ctx context.Context, owner, dir string, relays []string, passes int, o client.Options) (p *Plans, m *clientmemory.Memory, end func(), err error) {
	id, err := client.NewIdentity(relaytest.Agent().Secret)
	if err != nil {
		return nil, nil, nil, err
	}
	o.Relays = relays
	c := client.New(id, o)
	if m, err = clientmemory.AsAgent(c, owner); err != nil {
		return nil, nil, nil, err
	}
	s, err := memorystate.Open(ctx, memorystate.Pair{Agent: m.Agent(), Owner: owner, Conversation: m.Conversation()},
		memorystate.Options{Dir: dir, Now: func() time.Time { return testNow }, Machine: func() (string, error) { return "one", nil }})
	if err != nil {
		return nil, nil, nil, err
	}
	p = &Plans{Memory: mortal{m, &passes}, Source: listed{m}, Open: s.Plans, Tallies: s.Tallies, Lock: filepath.Join(dir, "plans.lock"), Machine: "one", Clock: func() time.Time { return testNow }}
	return p, m, func() { s.Close(); c.Close() }, nil
}

// work is what a process does.
func work(ctx context.Context, what string, passes int, owner, dir string, relays []string) error {
	p, _, end, err := onRelays(ctx, owner, dir, relays, passes, unhurried)
	if err != nil {
		return err
	}
	defer end()
	plan := shown(memory())
	switch what {
	case "commit":
		if err = p.Keep(ctx, plan); err == nil {
			_, err = p.Commit(ctx, plan.ID, answer())
		}
	case "undo":
		_, err = p.Undo(ctx, plan.ID, false)
	case "resume":
		_, err = p.ResumeOpen(ctx)
	}
	return err
}

// process runs one, and reports whether it was killed.
func process(t *testing.T, what string, passes int, owner, dir string, relays ...string) (was bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s %s %s", workVariable, what, passes, owner, dir, strings.Join(relays, " ")))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || passes < 0 {
		t.Fatalf("%s: %v\n%s", what, err, out)
	}
	return true
}

// written writes the memory to relays.
func written(t *testing.T, m *clientmemory.Memory) map[string]string {
	t.Helper()
	texts := memory()
	delete(texts, "core")
	var all []clientmemory.NewText
	for _, slug := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, clientmemory.NewText{Slug: nipae.Slug(slug), Text: texts[slug]})
	}
	added, err := m.Add(t.Context(), all)
	must(t, err)
	for _, a := range added {
		must(t, a.Err)
	}
	return texts
}

// textsOn are the texts on relays, without what is machines' own.
func textsOn(t *testing.T, m *clientmemory.Memory) map[string]string {
	t.Helper()
	all, _, err := m.ListAll(t.Context())
	must(t, err)
	texts := map[string]string{}
	for _, e := range all.Memories {
		if !recallanswer.Reserved(string(e.Slug)) {
			texts[string(e.Slug)] = e.Text
		}
	}
	return texts
}

// TestProcessesAreKilled: with a real relay, and processes that get SIGKILL before or
// after they write, what a plan does ends old or new, and what it did is taken back to
// the byte by another process, which may be killed too.
func TestProcessesAreKilled(t *testing.T) {
	url, dir := bridgetest.Start(t).URL, t.TempDir()
	plan := shown(memory())
	olds, news := 0, 0
	for n := 1; ; n += 2 * every() {
		owner := relaytest.NewKey(uint64(1000 + n)).Pub
		p, m, end, err := onRelays(t.Context(), owner, dir, []string{url}, -1, unhurried)
		must(t, err)
		before := written(t, m)
		was := process(t, "commit", n, owner, dir, url)
		process(t, "resume", -1, owner, dir, url)
		now := textsOn(t, m)
		r, err := p.Review(t.Context(), plan.ID)
		switch got := differ(before, now); {
		case len(got) == 0 && was:
			olds++
			process(t, "commit", -1, owner, dir, url)
		case len(got) == 6 && err == nil && r.Status == Done && len(r.Left) == 0:
			news++
			process(t, "undo", n, owner, dir, url)
			process(t, "resume", -1, owner, dir, url)
			if now = textsOn(t, m); same(before, now) {
				break
			}
			if _, err := p.Undo(t.Context(), plan.ID, false); err != nil { // it had not begun
				t.Errorf("pass %d: %v", n, err)
			}
			if now = textsOn(t, m); !same(before, now) {
				t.Errorf("pass %d: taken back, %v differ", n, differ(before, now))
			}
		default:
			t.Errorf("pass %d: %v differ, %+v, %v", n, got, r.Record, err)
		}
		end()
		if !was {
			break
		}
	}
	if olds < 1 || news < 8/every() {
		t.Errorf("%d old, %d new", olds, news)
	}
}

// TestRelayMissing: with one of two relays down or silent nothing begins that is new,
// and it is said; it goes on when it is back.
func TestRelayMissing(t *testing.T) {
	url := bridgetest.Start(t).URL
	for name, missing := range map[string]string{"down": bridgetest.Down(t), "silent": relaytest.Silent(t)} {
		t.Run(name, func(t *testing.T) {
			owner, dir := relaytest.NewKey(2000+uint64(len(name))).Pub, t.TempDir()
			p, m, end, err := onRelays(t.Context(), owner, dir, []string{url}, -1, unhurried)
			must(t, err)
			before := written(t, m)
			defer end()
			must(t, p.Keep(t.Context(), shown(memory())))
			for limit := 2 * time.Second; ; limit *= 3 { // on a busy machine the other one may take as long
				p, _, end, err := onRelays(t.Context(), owner, dir, []string{url, missing}, -1, client.Options{Timeout: limit})
				must(t, err)
				_, err = p.Commit(t.Context(), shown(memory()).ID, answer())
				end()
				now := textsOn(t, m)
				if err == nil || !same(before, now) {
					t.Fatalf("%v, %v differ", err, differ(before, now))
				}
				if strings.Contains(err.Error(), client.ErrPartial.Error()) {
					break
				}
				if limit > time.Minute {
					t.Fatal(err)
				}
			}
			p, _, end, err = onRelays(t.Context(), owner, dir, []string{url}, -1, unhurried)
			must(t, err)
			defer end()
			out, err := p.Commit(t.Context(), shown(memory()).ID, answer())
			if err != nil || out.Status != Done || len(differ(before, textsOn(t, m))) != 6 {
				t.Errorf("%+v, %v", out, err)
			}
			must(t, func() error { _, err := p.Undo(t.Context(), out.ID, false); return err }())
		})
	}
}
