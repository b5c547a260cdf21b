package plans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

var testNow = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

// relay is a memory without any history: as if all that was replaced had been
// dropped.
type relay struct {
	mu    sync.Mutex
	n     int
	heads map[string]there // ok is false for a tombstone
	seen  int              // what n was when source was made
	from  recallanswer.Source
}

func newRelay(texts map[string]string) *relay {
	r := &relay{heads: map[string]there{}}
	for _, slug := range slices.Sorted(maps.Keys(texts)) {
		r.set(slug, texts[slug])
	}
	return r
}

func (r *relay) set(slug, text string) there {
	r.n++
	r.heads[slug] = there{id: fmt.Sprintf("%064x", r.n), text: text, ok: true}
	return r.heads[slug]
}

// texts are those of agents, without what is machines' own.
func (r *relay) texts() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]string{}
	for slug, h := range r.heads {
		if h.ok && !recallanswer.Reserved(slug) {
			all[slug] = h.text
		}
	}
	return all
}

// Read makes a view of what is there, as an in-step local copy is.
func (r *relay) Read(ctx context.Context, do func(recallanswer.View) error) error {
	source, err := r.source()
	if err != nil {
		return err
	}
	return source.Read(ctx, do)
}

func (r *relay) source() (recallanswer.Source, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.from != nil && r.seen == r.n {
		return r.from, nil
	}
	var all []recallanswer.Held
	for _, slug := range slices.Sorted(maps.Keys(r.heads)) {
		if h := r.heads[slug]; h.ok {
			all = append(all, recallanswer.Held{Head: recallanswer.Head{Slug: slug, Size: len(h.text), UpdatedAt: testNow.Unix()}, Text: h.text})
		}
	}
	source, err := recallanswer.Load(all, recallanswer.State{AsOf: testNow})
	r.from, r.seen = source, r.n
	return source, err
}

// killed is what a process ends with that is killed.
var killed = errors.New("killed")

// door is one process's way to the relay and to its state. Each write passes twice:
// before it is taken and before it is answered.
type door struct {
	*relay
	pass func(what string)       // may panic with killed; nil lets all pass
	fail func(what string) error // what a write answers although it was taken; nil: nothing
	deny func(what string) error // what a call answers without having done anything
}

func (d *door) at(what string) {
	if d.pass != nil {
		d.pass(what)
	}
}

func (d *door) denied(what string) error {
	if d.deny != nil {
		return d.deny(what)
	}
	return nil
}

func (d *door) answer(what string) error {
	d.at("after " + what)
	if d.fail != nil {
		return d.fail(what)
	}
	return nil
}

func (d *door) Get(_ context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	if err := d.denied("get " + string(slug)); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	d.at("read " + string(slug))
	d.mu.Lock()
	defer d.mu.Unlock()
	h, known := d.heads[string(slug)]
	switch {
	case !known:
		return client.Entry{}, client.Status{}, client.ErrNotFound
	case !h.ok:
		return client.Entry{ID: h.id, Tombstone: true}, client.Status{}, client.ErrTombstone
	}
	return client.Entry{ID: h.id, Text: h.text, Hash: client.Hash(h.text)}, client.Status{}, nil
}

func (d *door) Set(_ context.Context, slug nipae.Slug, text string, o clientmemory.SetOptions) (client.Entry, client.Status, error) {
	what := "set " + string(slug)
	if err := d.denied(what); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	d.at("before " + what)
	body, err := nipae.NewMemory(slug, text)
	if err == nil && recallanswer.Reserved(string(slug)) {
		var b []byte
		if b, err = json.Marshal(body); err == nil && len(text) > maxBody {
			err = fmt.Errorf("a body of %d bytes (%d)", len(text), len(b))
		}
	}
	if err != nil {
		return client.Entry{}, client.Status{}, err
	}
	d.mu.Lock()
	h := d.heads[string(slug)]
	if o.Base == clientmemory.BaseNone && h.ok || o.Base != "" && o.Base != clientmemory.BaseNone && (!h.ok || client.Hash(h.text) != o.Base) {
		d.mu.Unlock()
		return client.Entry{}, client.Status{}, &client.ConflictError{Reason: "another text"}
	}
	d.set(string(slug), text)
	d.mu.Unlock()
	return client.Entry{}, client.Status{}, d.answer(what)
}

func (d *door) RemoveVersion(_ context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	what := "remove " + string(slug)
	if err := d.denied(what); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	d.at("before " + what)
	d.mu.Lock()
	h, known := d.heads[string(slug)]
	err := error(nil)
	switch {
	case !known:
		err = client.ErrNotFound
	case !h.ok:
		err = client.ErrTombstone
	case client.Hash(h.text) != base:
		err = &client.ConflictError{Reason: "another text"}
	}
	if err != nil {
		d.mu.Unlock()
		return client.Entry{}, client.Status{}, err
	}
	d.n++
	d.heads[string(slug)] = there{id: fmt.Sprintf("%064x", d.n)}
	d.mu.Unlock()
	return client.Entry{}, client.Status{}, d.answer(what)
}

// open are a machine's plans, of which the writes pass the process's door.
type open struct {
	OpenPlans
	door *door
}

func (s open) Put(ctx context.Context, p memorystate.Plan) error {
	s.door.at("before put " + p.ID)
	err := s.OpenPlans.Put(ctx, p)
	s.door.at("after put " + p.ID)
	return err
}

func (s open) Close(ctx context.Context, id string) error {
	s.door.at("before close " + id)
	err := s.OpenPlans.Close(ctx, id)
	s.door.at("after close " + id)
	return err
}

// simple is a state without a file.
type simple struct {
	mu      sync.Mutex
	plans   map[string]memorystate.Plan
	tallies map[string]map[string]memorystate.Tallied
}

func newSimple() *simple {
	return &simple{plans: map[string]memorystate.Plan{}, tallies: map[string]map[string]memorystate.Tallied{}}
}

func (s *simple) Put(_ context.Context, p memorystate.Plan) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plans[p.ID] = p
	return nil
}

func (s *simple) Get(_ context.Context, id string) (memorystate.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.plans[id]
	if !ok {
		return p, memorystate.ErrNoPlan
	}
	return p, nil
}

func (s *simple) All(context.Context) (all []memorystate.Plan, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.plans)) {
		all = append(all, s.plans[id])
	}
	return all, nil
}

func (s *simple) Close(ctx context.Context, id string) error {
	if _, err := s.Get(ctx, id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.plans, id)
	return nil
}

func (s *simple) Add(_ context.Context, kind string, slugs ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slug := range slugs {
		if s.tallies[kind] == nil {
			s.tallies[kind] = map[string]memorystate.Tallied{}
		}
		s.tallies[kind][slug] = memorystate.Tallied{N: s.tallies[kind][slug].N + 1, Last: testNow}
	}
	return nil
}

func (s *simple) Of(_ context.Context, kind string) (map[string]memorystate.Tallied, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.tallies[kind]), nil
}

func (s *simple) Forget(_ context.Context, kind string, slugs ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, slug := range slugs {
		delete(s.tallies[kind], slug)
	}
	return nil
}

// machine is one of those that an agent works on.
type machine struct {
	t       *testing.T
	name    string
	lock    string
	open    OpenPlans
	tallies Tallies
	relay   *relay
	now     time.Time
}

func newMachine(t *testing.T, name string, r *relay) *machine {
	s := newSimple()
	return &machine{t: t, name: name, relay: r, open: s, tallies: s, now: testNow, lock: filepath.Join(t.TempDir(), name+".lock")}
}

// start starts a process, a while after the one before.
func (m *machine) start() (*Plans, *door) {
	m.now = m.now.Add(time.Hour)
	d := &door{relay: m.relay}
	return &Plans{Memory: d, Source: m.relay, Open: open{m.open, d}, Tallies: m.tallies, Lock: m.lock, Machine: m.name, Session: "s1",
		Clock: func() time.Time { return m.now }}, d
}

// until runs a process that is killed when it passes for the nth time, and reports
// whether it was.
func (m *machine) until(n int, do func(*Plans) error) (err error, was bool) {
	p, d := m.start()
	d.pass = func(what string) {
		if strings.HasPrefix(what, "read ") {
			return
		}
		if n--; n == 0 {
			panic(killed)
		}
	}
	defer func() {
		if r := recover(); r == killed {
			err, was = killed, true
		} else if r != nil {
			panic(r)
		}
	}()
	return do(p), false
}

// settled fails if the state or the memory has anything open.
func (m *machine) settled() []Record {
	m.t.Helper()
	open, err := m.open.All(m.t.Context())
	must(m.t, err)
	for _, o := range open {
		if strings.HasPrefix(o.ID, openPrefix) {
			m.t.Errorf("the state has %s open", o.ID)
		}
	}
	p, _ := m.start()
	all, err := p.List(m.t.Context())
	must(m.t, err)
	for _, r := range all {
		if r.Err != nil || !r.Status.closed() && r.Status != Proposed {
			m.t.Errorf("%s is %s, %v", r.ID, r.Status, r.Err)
		}
	}
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func a(fields, body string) string {
	return "---\n" + fields + "---\n" + body + "\n"
}

// memory is a small one: four episodes, a fact that they supersede, and one told.
func memory() map[string]string {
	day := func(n int) string { return fmt.Sprintf("created: 2026-11-%02dT06:00:00Z\n", n) }
	return map[string]string{
		"core":           "I work on Atlas.",
		"mem/journal/e1": a("type: episodic\n"+day(10), "Atlas moved to PostgreSQL today: \"done\" <b>\u2028."),
		"mem/journal/e2": a("type: episodic\nodd:   spacing  # kept\n"+day(11), "PostgreSQL 17, on two machines.\r\nYes."),
		"mem/journal/e3": a("type: episodic\n"+day(12), "The move took an hour."),
		"mem/journal/e4": "An episode without any front matter but its type is one.",
		"mem/facts/old":  a("type: semantic\n"+day(1), "Atlas keeps its data in SQLite."),
		"mem/facts/told": a("type: semantic\ntrust: told\n"+day(1), "Ana decides."),
	}
}

func planOf(kind consolidation.Kind, texts map[string]string, roles map[string]consolidation.Role) consolidation.Plan {
	p := consolidation.Plan{Kind: kind, Made: testNow}
	for _, slug := range slices.Sorted(maps.Keys(roles)) {
		p.Units = append(p.Units, consolidation.Shown{Slug: slug, Hash: consolidation.Hash(texts[slug]), Role: roles[slug]})
	}
	return p.Identify()
}

// shown is a plan of consolidation over the memory.
func shown(texts map[string]string) consolidation.Plan {
	return planOf(consolidation.Consolidate, texts, map[string]consolidation.Role{"mem/journal/e1": consolidation.Episode, "mem/journal/e2": consolidation.Episode, "mem/journal/e3": consolidation.Episode,
		"mem/journal/e4": consolidation.Episode, "mem/facts/old": consolidation.Beside, "mem/facts/told": consolidation.Beside})
}

// answer has every kind of change: a new unit, one superseded, marked and archived.
func answer() []consolidation.Op {
	return []consolidation.Op{
		{Op: consolidation.OpWrite, Slug: "mem/facts/new", Text: "Atlas keeps its data in PostgreSQL 17 on two machines.", DerivedFrom: []string{"mem/journal/e1", "mem/journal/e2", "mem/journal/e3"}},
		{Op: consolidation.OpSupersede, Old: "mem/facts/old", New: "mem/facts/new", Why: "it moved"},
		{Op: consolidation.OpArchive, Slug: "mem/journal/e3", Why: "said elsewhere"},
		{Op: consolidation.OpKeep, Slug: "mem/journal/e4"},
	}
}

// keep shows the plan on a machine.
func (m *machine) keep(plan consolidation.Plan) {
	m.t.Helper()
	p, _ := m.start()
	must(m.t, p.Keep(m.t.Context(), plan))
}

func same(a, b map[string]string) bool { return reflect.DeepEqual(a, b) }

// differ names the slugs at which two memories differ.
func differ(a, b map[string]string) (slugs []string) {
	for slug := range a {
		if b[slug] != a[slug] {
			slugs = append(slugs, slug)
		}
	}
	for slug := range b {
		if _, ok := a[slug]; !ok {
			slugs = append(slugs, slug)
		}
	}
	slices.Sort(slugs)
	return slugs
}

var stamps = pattern.Later(`(created|consolidated): 2026-11-2[2-9]T[0-9:]*Z`)

// lost fails if something was taken away since a moment, and nothing that is active
// stands in for it.
func lost(t *testing.T, before, texts map[string]string, when string) {
	t.Helper()
	says := map[string]map[string]bool{"supersedes": {}, "derived_from": {}}
	for _, text := range texts {
		if f := frontmatter.Parse(text).Fields(); f.State == frontmatter.Active {
			for _, r := range f.Relations {
				if says[r.Relation] != nil {
					says[r.Relation][r.Target] = true
				}
			}
		}
	}
	for slug, text := range texts {
		if before[slug] == text {
			continue
		}
		switch state := frontmatter.Parse(text).Fields().State; {
		case state == frontmatter.Superseded && !says["supersedes"][slug], state == frontmatter.Archived && !says["derived_from"][slug]:
			t.Errorf("%s: %s is %s, and nothing stands in for it", when, slug, state)
		}
	}
}
