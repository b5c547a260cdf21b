package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// The moments at which another session may write.
const (
	beforeReading  = "before what is there is read again"
	beforeDecision = "before the relay decides"
	afterDecision  = "before it is read back"
)

// meeting is a memory that another session writes to in the middle of each write; meet is
// called once for each that is armed.
type meeting struct {
	*memory.Memory
	at    string
	mu    sync.Mutex
	meet  func()
	ready bool // the relay decides next
}

func (m *meeting) arm(meet func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.meet, m.ready = meet, false
}

func (m *meeting) now(moment string) {
	m.mu.Lock()
	meet := m.meet
	if moment == m.at {
		m.meet = nil
	}
	m.mu.Unlock()
	if moment == m.at && meet != nil {
		meet()
	}
}

func (m *meeting) Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	m.now(beforeReading)
	o.Signed = func(string) error {
		m.now(beforeDecision)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ready = true
		return nil
	}
	return m.Memory.Set(ctx, slug, text, o)
}

// meetingAt returns a peer whose writes meet others, and its memory.
func meetingAt(t *testing.T, url, at string) (peer, *meeting) {
	t.Helper()
	m := &meeting{at: at}
	c := client.New(who(t, "agent"), client.Options{Relays: []string{url}, Timeout: patience / 2, Trace: func(_ string, sent bool, frame []byte) {
		m.mu.Lock()
		ready := m.ready && !sent && strings.HasPrefix(string(frame), "HTTP 200")
		m.mu.Unlock()
		if ready {
			m.now(afterDecision)
		}
	}})
	t.Cleanup(c.Close)
	var err error
	if m.Memory, err = memory.AsAgent(c, who(t, "owner").PubKey()); err != nil {
		t.Fatal(err)
	}
	return connect(t, newServer(options{Memory: m, Timeout: patience})), m
}

// Two servers that write to one memory lose nothing and refuse nothing, at whatever moment
// they meet.
func TestTwoSessionsAtOneMemory(t *testing.T) {
	const each = 15
	for at, rebased := range map[string]int{beforeReading: 1, beforeDecision: 1, afterDecision: 0} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			url := bridgetest.Start(t).URL
			one, m := meetingAt(t, url, at)
			two := connect(t, newServer(options{Memory: agentAt(t, url), Timeout: patience}))
			var want []string
			for i := range each {
				m.arm(func() { ask[writeOut](two, "memory_append", args{"slug": "log", "text": fmt.Sprintf("two %02d", i)}) })
				out := ask[writeOut](one, "memory_append", args{"slug": "log", "text": fmt.Sprintf("one %02d", i)})
				if m.meet != nil || out.Rebased != rebased || len(out.Warnings) > 0 || out.StoredOn != 1 {
					t.Errorf("append %d: %+v", i, out)
				}
				if got := ask[readOut](one, "memory_read", args{"slug": "log"}); got.Hash != out.Hash {
					t.Errorf("append %d: its hash is not that of what is there", i)
				}
				want = append(want, fmt.Sprintf("one %02d", i), fmt.Sprintf("two %02d", i))
			}
			lines := strings.Split(ask[readOut](two, "memory_read", args{"slug": "log"}).Text, "\n")
			slices.Sort(want)
			if slices.Sort(lines); !slices.Equal(lines, want) {
				t.Errorf("%d of %d lines: %q", len(lines), 2*each, lines)
			}
		})
	}
}

func TestTwoSessionsEditOneMemory(t *testing.T) {
	for at, rebased := range map[string]int{beforeReading: 1, beforeDecision: 1, afterDecision: 0} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			url := bridgetest.Start(t).URL
			one, m := meetingAt(t, url, at)
			two := connect(t, newServer(options{Memory: agentAt(t, url), Timeout: patience}))
			was := ask[writeOut](two, "memory_write", args{"slug": "list", "text": "a0\nb0\n"})
			for i := range 5 {
				m.arm(func() {
					ask[writeOut](two, "memory_edit", args{"slug": "list", "old_str": fmt.Sprint("b", i), "new_str": fmt.Sprint("b", i+1)})
				})
				out := ask[writeOut](one, "memory_edit", args{"slug": "list", "old_str": fmt.Sprint("a", i), "new_str": fmt.Sprint("a", i+1)})
				if out.Rebased != rebased || len(out.Warnings) > 0 {
					t.Errorf("edit %d: %+v", i, out)
				}
			}
			if got := ask[readOut](two, "memory_read", args{"slug": "list"}); got.Text != "a5\nb5\n" {
				t.Errorf("%q", got.Text)
			}
			if at == afterDecision {
				return
			}
			// With a base, and where the place is gone, it is a conflict, and who decided is
			// not called nobody.
			for name, a := range map[string]args{"base": {"slug": "list", "old_str": "a5", "new_str": "a6"}, "place": {"slug": "list", "old_str": "b5", "new_str": "b6"}} {
				if name == "base" {
					a["base"] = ask[readOut](two, "memory_read", args{"slug": "list"}).Hash
				}
				text := "a5\nb5\n"
				m.arm(func() { ask[writeOut](two, "memory_write", args{"slug": "list", "text": "theirs\n"}) })
				f, words := one.refused("memory_edit", a)
				if f.Code != CodeConflict || f.Theirs == nil || f.Theirs.Hash == was.Hash || strings.Contains(words, "no relay decide") {
					t.Errorf("%s: %s", name, words)
				}
				if got := ask[readOut](two, "memory_read", args{"slug": "list"}); got.Text != "theirs\n" {
					t.Errorf("%s: %q", name, got.Text)
				}
				ask[writeOut](two, "memory_write", args{"slug": "list", "text": text})
			}
		})
	}
}

// Two servers that write as fast as they can refuse nothing either: whoever meets another
// write is made again at most as often as the other one writes.
func TestTwoSessionsAtOnce(t *testing.T) {
	const each = 15
	url := bridgetest.Start(t).URL
	var all sync.WaitGroup
	var peers []peer
	for range 2 {
		peers = append(peers, connect(t, newServer(options{Memory: agentAt(t, url), Timeout: patience})))
	}
	for n, p := range peers {
		all.Go(func() {
			for i := range each {
				res, err := p.CallTool(t.Context(), callOf("memory_append", args{"slug": "log", "text": fmt.Sprintf("%d %02d", n, i)}))
				if err != nil || res.IsError {
					t.Errorf("append %d of %d: %v, %v", i, n, err, text(res))
				}
			}
		})
	}
	all.Wait()
	lines := strings.Split(ask[readOut](peers[0], "memory_read", args{"slug": "log"}).Text, "\n")
	sorted := slices.Compact(slices.Sorted(slices.Values(lines)))
	if len(lines) != 2*each || len(sorted) != 2*each {
		t.Errorf("%d lines, %d of them different: %q", len(lines), len(sorted), lines)
	}
}

// What was found in a history alone is on no relay as what is there.
func TestStoredAndSuperseded(t *testing.T) {
	got := complaints(client.Status{Past: true, Published: []client.PublishStatus{{URL: "wss://a", Err: client.ErrTimeout}}})
	if len(got) != 1 || !strings.Contains(got[0], "another version has taken its place") {
		t.Errorf("%q", got)
	}
}
