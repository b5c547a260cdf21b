package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/apart"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/internal/protocol/wire"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// gate stands before a relay, which has both addresses, and can be closed.
type gate struct {
	url, to string
	relay   string
	mu      sync.Mutex
	shut    bool
	deaf    bool // it closes once the relay has answered an event, and keeps the answer
	open    map[net.Conn]bool
}

func newGate(t *testing.T) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	g := &gate{url: "ws://" + l.Addr().String(), open: map[net.Conn]bool{}}
	g.relay = relaytest.Start(t, relaytest.Options{Args: []string{"--public-url", g.url}}).URL
	g.to = strings.TrimPrefix(g.relay, "ws://")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.serve(c)
		}
	}()
	t.Cleanup(func() { g.set(true) })
	return g
}

// set closes or opens the gate.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.deaf = shut, false
	for c := range g.open {
		c.Close()
		delete(g.open, c)
	}
}

func (g *gate) serve(c net.Conn) {
	far, err := net.Dial("tcp", g.to)
	if err != nil {
		c.Close()
		return
	}
	g.mu.Lock()
	g.open[c], g.open[far] = true, true
	shut := g.shut
	g.mu.Unlock()
	defer c.Close()
	defer far.Close()
	if shut {
		return
	}
	var mu sync.Mutex
	posted := false
	go func() {
		defer far.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Read(buf)
			if bytes.Contains(buf[:n], []byte("POST /events")) {
				mu.Lock()
				posted = true
				mu.Unlock()
			}
			if _, failed := far.Write(buf[:n]); err != nil || failed != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := far.Read(buf)
		mu.Lock()
		lost := posted && g.isDeaf()
		mu.Unlock()
		if lost && n > 0 {
			g.set(true)
			return
		}
		if _, failed := c.Write(buf[:n]); err != nil && !errors.Is(err, io.EOF) || failed != nil || err == io.EOF {
			return
		}
	}
}

func (g *gate) isDeaf() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.deaf
}

// machine is where sessions of one agent run.
type machine struct {
	t            *testing.T
	cache, state string
	relay        string
}

func machineAt(t *testing.T, relay string) *machine {
	return &machine{t, t.TempDir(), t.TempDir(), relay}
}

// session opens a session, which ends with the test.
func (m *machine) session() *Session {
	m.t.Helper()
	id, err := client.NewIdentity(relaytest.Agent().Secret)
	if err != nil {
		m.t.Fatal(err)
	}
	s, err := Open(Options{Identity: id, Client: client.Options{Relays: strings.Fields(m.relay), Timeout: relaytest.Patience}, Owner: relaytest.Owner().Pub,
		Timeout: relaytest.Patience, Slack: relaytest.Patience, Cache: func() (string, error) { return m.cache, nil }, State: m.state, Source: "test",
		Ancestors: func() ([]string, string) { return nil, "" }, Note: func(string) {}, NoDiscovery: true})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(s.Close)
	return s
}

// write does something with the agent's writer; what waits afterwards is queued.
func wrote(t *testing.T, r write.Result, err error, queued bool) {
	t.Helper()
	if err != nil || r.Status.Queued != queued {
		t.Fatalf("queued %v, %v; want %v", r.Status.Queued, err, queued)
	}
}

var mayWait = memory.SetOptions{Later: &memory.Later{}}

func setTo(t *testing.T, s *Session, slug nipae.Slug, text string, queued bool) {
	t.Helper()
	r, err := s.Memory.Writer(t.Context()).Write(t.Context(), slug, write.Draft{Text: text}, mayWait)
	wrote(t, r, err, queued)
}

func appendTo(t *testing.T, s *Session, slug nipae.Slug, text string, queued bool) {
	t.Helper()
	r, err := s.Memory.Writer(t.Context()).Append(t.Context(), slug, text, mayWait)
	wrote(t, r, err, queued)
}

func edit(t *testing.T, s *Session, slug nipae.Slug, old, new string, queued bool) {
	t.Helper()
	r, err := s.Memory.Writer(t.Context()).Edit(t.Context(), slug, old, new, mayWait)
	wrote(t, r, err, queued)
}

// body is what relays show at a slug, without its fields.
func body(t *testing.T, s *Session, slug nipae.Slug) string {
	t.Helper()
	e, status, err := s.Memory.Get(t.Context(), slug)
	if err != nil || status.Stale {
		t.Fatalf("%s: %v, stale %v", slug, err, status.Stale)
	}
	return write.Body(slug, e.Text)
}

// versions is how many versions of a slug there are.
func versions(t *testing.T, s *Session, slug nipae.Slug) int {
	t.Helper()
	all, _, err := s.Memory.Log(t.Context(), slug)
	if err != nil && !errors.Is(err, client.ErrNotFound) {
		t.Fatal(err)
	}
	return len(all)
}

func sent(t *testing.T, s *Session) Sent {
	t.Helper()
	out, err := s.Outbox.Send(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// waiting is what waits, as "slug how".
func waiting(t *testing.T, s *Session) (all []string) {
	t.Helper()
	list, err := s.Outbox.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		all = append(all, w.Slug+" "+w.How())
	}
	return all
}

// apartOf are the texts that were kept apart, by the slugs that they were written to.
func apartOf(t *testing.T, s *Session) map[string]string {
	t.Helper()
	l, _, err := s.Memory.ListAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []answer.Held
	for _, e := range l.Memories {
		all = append(all, answer.Held{Head: answer.Head{Slug: string(e.Slug)}, Text: e.Text})
	}
	source, err := answer.Load(all, answer.State{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	err = source.Read(t.Context(), func(v answer.View) error {
		for _, u := range apart.In(v, "") {
			found[u.Of] += write.Body(nipae.Slug(u.Of), u.Text) + ";"
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestOutboxMeets: what was written while no relay answered goes onto what another
// machine wrote meanwhile where it fits, and is kept apart where it does not.
func TestOutboxMeets(t *testing.T) {
	g := newGate(t)
	here, there := machineAt(t, g.url), machineAt(t, g.relay)
	s := here.session()
	slugs := []nipae.Slug{"mem/same", "mem/append", "mem/edit", "mem/twice", "mem/set", "mem/chain", "mem/gone", "core"}
	for _, slug := range slugs {
		setTo(t, s, slug, "one\ntwo\n", false)
	}
	g.set(true)
	before := time.Now().Truncate(time.Second)
	setTo(t, s, "mem/same", "changed", true)
	appendTo(t, s, "mem/append", "mine", true)
	edit(t, s, "mem/edit", "one", "ONE", true)
	edit(t, s, "mem/twice", "one", "ONE", true)
	setTo(t, s, "mem/set", "mine", true)
	appendTo(t, s, "mem/chain", "mine", true)
	edit(t, s, "mem/chain", "one\ntwo", "ONE", true)
	appendTo(t, s, "mem/chain", "last", true)
	appendTo(t, s, "mem/gone", "mine", true)
	appendTo(t, s, "core", "mine", true)
	setTo(t, s, "mem/new", "all new", true)
	setTo(t, s, "mem/taken", "mine", true)

	other := there.session()
	for _, slug := range slugs[1:] {
		appendTo(t, other, slug, "theirs", false)
	}
	setTo(t, other, "mem/twice", "one and one", false)
	setTo(t, other, "mem/chain", "quite another", false)
	setTo(t, other, "mem/taken", "theirs", false)
	if _, _, err := other.Memory.Remove(t.Context(), "mem/gone", false); err != nil {
		t.Fatal(err)
	}
	g.set(false)
	out := sent(t, s)
	if out.Written != 5 || out.Rebased != 3 || out.Apart != 5 || out.Left != 0 {
		t.Errorf("%+v", out)
	}
	for slug, want := range map[nipae.Slug]string{"mem/same": "changed", "mem/append": "one\ntwo\ntheirs\nmine", "mem/edit": "ONE\ntwo\ntheirs", "mem/twice": "one and one",
		"mem/set": "one\ntwo\ntheirs", "mem/chain": "quite another", "core": "one\ntwo\ntheirs\nmine", "mem/new": "all new", "mem/taken": "theirs"} {
		if got := body(t, other, slug); got != want {
			t.Errorf("%s: %q, want %q", slug, got, want)
		}
	}
	if _, _, err := other.Memory.Get(t.Context(), "mem/gone"); !errors.Is(err, client.ErrTombstone) {
		t.Errorf("what was removed: %v", err)
	}
	want := map[string]string{"mem/twice": "ONE\ntwo\n;", "mem/set": "mine;", "mem/chain": "ONE\nmine\nlast;", "mem/gone": "one\ntwo\nmine;", "mem/taken": "mine;"}
	if got := apartOf(t, other); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("apart: %q, want %q", got, want)
	}
	e, _, err := other.Memory.Get(t.Context(), "mem/new")
	f := frontmatter.Parse(e.Text).Fields()
	if err != nil || f.Created.Time.Before(before) || f.Created.Time.After(time.Unix(e.CreatedAt, 0)) || f.Source != "test" {
		t.Errorf("created %v by %q, sent at %d, %v", f.Created, f.Source, e.CreatedAt, err)
	}
	if again := sent(t, s); again.String() != "" {
		t.Errorf("sent again: %s", again)
	}
}

// TestOutboxMakesNoSecret: what is none becomes none by the text that it meets, and
// what was allowed when it was kept goes onto that.
func TestOutboxMakesNoSecret(t *testing.T) {
	const hex = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
	g := newGate(t)
	here, there := machineAt(t, g.url), machineAt(t, g.relay)
	s, other := here.session(), there.session()
	for _, slug := range []nipae.Slug{"mem/half", "mem/allowed"} {
		setTo(t, s, slug, "one\n", false)
	}
	g.set(true)
	appendTo(t, s, "mem/half", hex, true)
	appendTo(t, s, "mem/allowed", "secret key: "+hex, true)
	appendTo(t, other, "mem/half", "secret key:", false)
	appendTo(t, other, "mem/allowed", "theirs", false)
	g.set(false)
	if out := sent(t, s); out.Rebased != 1 || out.Apart != 1 || out.Left != 0 {
		t.Errorf("%+v", out)
	}
	if half, allowed := body(t, other, "mem/half"), body(t, other, "mem/allowed"); half != "one\nsecret key:" || allowed != "one\ntheirs\nsecret key: "+hex {
		t.Errorf("%q, %q", half, allowed)
	}
	if got := apartOf(t, other)["mem/half"]; got != "one\n"+hex+";" {
		t.Errorf("apart: %q", got)
	}
}

// TestOutboxFound: what waits is read in place of what is there, and a write begins
// with it; nothing of a refusal waits, nor for an owner.
func TestOutboxFound(t *testing.T) {
	g := newGate(t)
	m := machineAt(t, g.url)
	s := m.session()
	setTo(t, s, "mem/a", "one", false)
	setTo(t, s, "mem/b", "bee", false)
	g.set(true)
	appendTo(t, s, "mem/a", "two", true)
	appendTo(t, s, "mem/unknown", "only this", true)
	n, err := s.Memory.Writer(t.Context()).AddNote(t.Context(), s.Memory, write.Note{Text: "a wombat", Later: true}, nil)
	wrote(t, n, err, true)
	g.set(false)

	s = m.session() // another process, and the relay answers
	e, status, err := s.Memory.Read(t.Context(), "mem/a")
	if err != nil || !status.Queued || write.Body("mem/a", e.Text) != "one\ntwo" || len(waiting(t, s)) != 3 {
		t.Errorf("%q, %+v, %v", e.Text, status, err)
	}
	l, status, err := s.Memory.ReadAll(t.Context())
	var unsent []nipae.Slug
	for _, e := range l.Memories {
		if e.ID == "" {
			unsent = append(unsent, e.Slug)
		}
	}
	if err != nil || !status.Queued || len(l.Memories) != 4 || len(unsent) != 3 {
		t.Errorf("%d, unsent %q, %v", len(l.Memories), unsent, err)
	}
	kept, err := s.Copies.Open(t.Context(), s.o.Note)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	err = kept.Source().Read(t.Context(), func(v answer.View) error {
		found, err := answer.Recall(v, answer.Query{Text: "wombat"}, time.Now())
		if err != nil || len(found.Hits) != 1 || !found.Hits[0].Standing.Unsent || !found.Hits[0].Head.Unsent || !strings.Contains(found.Block, "not sent yet") {
			t.Errorf("recalled %+v, %v", found, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = kept.Confirmed().Read(t.Context(), func(v answer.View) error {
		if v.Index().Has(string(n.Slug)) {
			t.Error("what relays have has what waits")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	edit(t, s, "mem/a", "two", "three", false) // what waits at the slug goes before it
	if got := body(t, s, "mem/a"); got != "one\nthree" || versions(t, s, "mem/a") != 3 {
		t.Errorf("%q", got)
	}
	sent(t, s)
	if got := body(t, s, "mem/unknown"); got != "only this" {
		t.Errorf("%q", got)
	}
	refused := machineAt(t, clienttest.Refusing(t, "restricted: not you"))
	if _, err := refused.session().Memory.Writer(t.Context()).Write(t.Context(), "mem/x", write.Draft{Text: "x"}, mayWait); !errors.Is(err, client.ErrAuth) {
		t.Errorf("a refusal: %v", err)
	}
	g.set(true)
	r, _, err := s.Memory.Set(t.Context(), "mem/x", "x", memory.SetOptions{})
	if !errors.Is(err, client.ErrNoRelay) || r.ID != "" || len(waiting(t, s)) != 0 {
		t.Errorf("a write that may not wait: %v, %q wait", err, waiting(t, s))
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Memory.Set(gone, "mem/x", "x", mayWait); err == nil || len(waiting(t, s)) != 0 {
		t.Errorf("who gave up: %v, %q wait", err, waiting(t, s))
	}
	if _, _, err := s.Memory.Set(t.Context(), "mem/b", "x", memory.SetOptions{Later: &memory.Later{}, Base: client.Hash("other")}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("another base: %v", err)
	}
	if _, _, err := s.Memory.Set(t.Context(), "mem/b", strings.Repeat("x", nipae.MaxBody), mayWait); !errors.Is(err, client.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	secret := errors.New("a secret")
	o := memory.SetOptions{Later: &memory.Later{}, Check: func(string, string) error { return secret }}
	if _, _, err := s.Memory.Set(t.Context(), "mem/b", "x", o); !errors.Is(err, secret) || len(waiting(t, s)) != 0 {
		t.Errorf("checked: %v, %q wait", err, waiting(t, s))
	}
}

// TestOutboxKills: wherever a process is killed, what waits is stored once.
func TestOutboxKills(t *testing.T) {
	g := newGate(t)
	m := machineAt(t, g.url)
	s := m.session()
	setTo(t, s, "mem/a", "one", false)
	queued := func(text string) *Session {
		t.Helper()
		s := m.session()
		g.set(true)
		appendTo(t, s, "mem/a", text, true)
		g.set(false)
		s.Close()
		return m.session()
	}
	ids := func(s *Session) (ids []string) {
		t.Helper()
		all, err := s.Outbox.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range all {
			ids = append(ids, w.ID)
		}
		return ids
	}

	// After it was signed, and before it was sent.
	s = queued("signed")
	if err := s.Outbox.state(t.Context()).Outbox.Signed(t.Context(), strings.Repeat("ab", 32), ids(s)...); err != nil {
		t.Fatal(err)
	}
	sent(t, s)
	if got := body(t, s, "mem/a"); got != "one\nsigned" || versions(t, s, "mem/a") != 2 {
		t.Errorf("signed: %q", got)
	}

	// After it was sent, and before the answer.
	s = queued("sent")
	g.mu.Lock()
	g.deaf = true
	g.mu.Unlock()
	if out, err := s.Outbox.Send(t.Context(), ""); !client.Silent(err) || len(waiting(t, s)) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	g.set(false)
	s = m.session()
	if out := sent(t, s); out.Written != 1 || out.Left != 0 {
		t.Errorf("%+v", out)
	}
	if got := body(t, s, "mem/a"); got != "one\nsigned\nsent" || versions(t, s, "mem/a") != 3 {
		t.Errorf("sent: %q", got)
	}

	// After the answer, before it was taken out; another machine writes on it.
	s = queued("answered")
	state := s.Outbox.state(t.Context())
	all, err := state.Outbox.All(t.Context(), "")
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	sent(t, s)
	e, _, err := s.Memory.Get(t.Context(), "mem/a")
	if err != nil {
		t.Fatal(err)
	}
	appendTo(t, machineAt(t, g.relay).session(), "mem/a", "theirs", false)
	all[0].Sent = e.ID
	if _, err := state.Outbox.Put(t.Context(), all[0], 0); err != nil {
		t.Fatal(err)
	}
	if out := sent(t, s); out.Left != 0 || len(apartOf(t, s)) != 0 {
		t.Errorf("%+v", out)
	}
	if got := body(t, s, "mem/a"); got != "one\nsigned\nsent\nanswered\ntheirs" || versions(t, s, "mem/a") != 5 {
		t.Errorf("answered: %q", got)
	}

	// A direct write of which the answer is lost waits, and is not sent twice.
	g.mu.Lock()
	g.deaf = true
	g.mu.Unlock()
	s = m.session()
	edit(t, s, "mem/a", "theirs", "ours", true)
	g.set(false)
	sent(t, s)
	if got := body(t, s, "mem/a"); !strings.HasSuffix(got, "\nours") || versions(t, s, "mem/a") != 6 {
		t.Errorf("direct: %q, %d versions", got, versions(t, s, "mem/a"))
	}
}

// TestOutboxTogether: of several processes one sends, and each note is there once.
func TestOutboxTogether(t *testing.T) {
	g := newGate(t)
	m := machineAt(t, g.url)
	g.set(true)
	s := m.session()
	for i := range 12 {
		r, err := s.Memory.Writer(t.Context()).AddNote(t.Context(), s.Memory, write.Note{Text: fmt.Sprint("note ", i), Later: true}, nil)
		wrote(t, r, err, true)
	}
	g.set(false)
	var all sync.WaitGroup
	for range 3 {
		s := m.session()
		all.Go(func() {
			if _, err := s.Outbox.Send(t.Context(), ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	l, _, err := s.Memory.ListAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var notes []nipae.Slug
	for _, e := range l.Memories {
		if strings.HasPrefix(string(e.Slug), "mem/journal/") {
			notes = append(notes, e.Slug)
		}
	}
	if len(notes) != 12 || len(waiting(t, s)) != 0 {
		t.Fatalf("%d notes, %q wait", len(notes), waiting(t, s))
	}
	for _, slug := range notes {
		if n := versions(t, s, slug); n != 1 {
			t.Errorf("%s has %d versions", slug, n)
		}
	}
}

// TestOutboxRefused: what is refused waits with the reason, and the rest is not kept
// from going on; what was set aside is taken over.
func TestOutboxRefused(t *testing.T) {
	g := newGate(t)
	m := machineAt(t, g.url)
	g.set(true)
	s := m.session()
	setTo(t, s, "mem/a", "one", true)
	setTo(t, s, "mem/b", "two", true)
	refusing := &machine{t, m.cache, m.state, clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok; f, ok = c.Read() {
			switch f.Label {
			case wire.LabelReq:
				c.Send(wire.AppendEOSE(nil, f.SubID))
			case wire.LabelEvent:
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "blocked: quota"))
			}
		}
	}})}
	r := refusing.session()
	if out := sent(t, r); out.Left != 2 {
		t.Errorf("%+v", out)
	}
	all, err := r.Outbox.All(t.Context())
	if err != nil || len(all) != 2 || !strings.Contains(all[0].Reason, "quota") || !strings.Contains(all[1].Reason, "quota") || all[0].Sent != "" {
		t.Errorf("%+v, %v", all, err)
	}

	// The folder is copied to another machine: what waits there is named and taken over,
	// and is not written twice.
	r.Close()
	s.Close()
	copied := machineAt(t, g.url)
	if err := os.CopyFS(filepath.Join(copied.state, "engramd"), os.DirFS(m.state)); err != nil {
		t.Fatal(err)
	}
	copied.state = filepath.Join(copied.state, "engramd")
	var said []string
	c := copied.session()
	c.o.Note = func(line string) { said = append(said, line) }
	if n := len(waiting(t, c)); n != 0 || len(said) != 2 || !strings.Contains(said[1], "2 writes wait in a state that was set aside: engramctl outbox import ") {
		t.Errorf("%d wait, said %q", n, said)
	}
	g.set(false)
	s = m.session()
	if out := sent(t, s); out.Left != 0 || body(t, s, "mem/a") != "one" || body(t, s, "mem/b") != "two" {
		t.Errorf("%+v", out)
	}
	appendTo(t, s, "mem/b", "three", false)
	aside := c.Outbox.Aside(t.Context())
	if len(aside) != 1 || aside[0].Waiting != 2 {
		t.Fatalf("%+v", aside)
	}
	if n, err := c.Outbox.Import(t.Context(), aside[0].File); n != 2 || err != nil || len(waiting(t, c)) != 2 || len(c.Outbox.Aside(t.Context())) != 0 {
		t.Errorf("took %d over, %v", n, err)
	}
	if out := sent(t, c); out.Left != 0 || versions(t, c, "mem/a") != 1 || versions(t, c, "mem/b") != 2 || len(apartOf(t, c)) != 1 {
		t.Errorf("%+v, apart %q", out, apartOf(t, c))
	}

	// What is given up is gone, be it here or apart.
	l, _, err := c.Memory.ListAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Memories {
		if id, ok := strings.CutPrefix(string(e.Slug), apart.Prefix); ok {
			if err := c.Outbox.Drop(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
	g.set(true)
	setTo(t, c, "mem/c", "three", true)
	waits, err := c.Outbox.All(t.Context())
	if err != nil || c.Outbox.Drop(t.Context(), waits[0].ID) != nil || len(waiting(t, c)) != 0 {
		t.Errorf("%+v, %v", waits, err)
	}
	g.set(false)
	if err := c.Outbox.Drop(t.Context(), waits[0].ID); !errors.Is(err, client.ErrNotFound) || len(apartOf(t, c)) != 0 {
		t.Errorf("dropped twice: %v, apart %q", err, apartOf(t, c))
	}
}

// TestOutboxServer: a server sends what waits once a relay answers again, and what waits
// when it begins.
func TestOutboxServer(t *testing.T) {
	g := newGate(t)
	m := machineAt(t, g.url)
	g.set(true)
	setTo(t, m.session(), "mem/before", "one", true)
	s := m.session()
	s.o.Log = slog.New(slog.DiscardHandler)
	l, err := s.Copies.Open(t.Context(), s.o.Note)
	if err != nil {
		t.Fatal(err)
	}
	v := s.Serve(t.Context(), l, ServeOptions{Patience: relaytest.Patience})
	t.Cleanup(func() { v.Close(); l.Close() })
	setTo(t, s, "mem/while", "two", true)
	g.set(false)
	patient, done := context.WithTimeout(t.Context(), relaytest.Patience)
	defer done()
	for len(waiting(t, s)) > 0 {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-patient.Done():
			t.Fatalf("%q wait", waiting(t, s))
		}
	}
	if a, b := body(t, s, "mem/before"), body(t, s, "mem/while"); a != "one" || b != "two" {
		t.Errorf("%q, %q", a, b)
	}
}
