package web_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// chainCase is what one reading of all versions gave, and what it says of each log.
type chainCase struct {
	Events    []chainEvent `json:"events"`
	Logs      []chainLog   `json:"logs"` // by name; those that an event is in
	Unchained int          `json:"unchained"`
}

type chainEvent struct {
	ID   string `json:"id"`
	At   int64  `json:"at"`
	Body string `json:"body"`
}

type chainLog struct {
	W      string  `json:"w"`
	Last   int64   `json:"last"`
	Forked []int64 `json:"forked"`
	Root   []int64 `json:"root"`
	Gap    []int64 `json:"gap"` // neither there, nor void, open or kept in a log unit
}

// TestGoldenTableOfChains writes and checks web-chain.json.
func TestGoldenTableOfChains(t *testing.T) {
	r := seeded(6)
	var cases []any
	forked, root, gap := 0, 0, 0
	for range 110 {
		c := chainCaseOf(t, history(t, r))
		for _, l := range c.Logs {
			forked, root, gap = forked+len(l.Forked), root+len(l.Root), gap+len(l.Gap)
		}
		cases = append(cases, c)
	}
	if forked < 20 || root < 20 || gap < 20 {
		t.Errorf("%d forks, %d roots, %d gaps: too few", forked, root, gap)
	}
	(&table{name: "web-chain.json", about: "Versions of memories and what internal/chain says of the logs in them, for one relay that promises nothing.", sections: []section{{"cases", cases}}}).hold(t, 110)
}

// history is what one or two writers wrote, with what went wrong.
func history(t *testing.T, r *rand.Rand) (events []chainEvent) {
	for range 1 + r.IntN(2) {
		events = append(events, written(t, r)...)
	}
	if len(events) > 0 && r.IntN(3) == 0 { // a copy of a link by a program that does not know it
		e := pick(r, events)
		events = append(events, chainEvent{id(r), e.At + 1, e.Body})
	}
	if r.IntN(2) == 0 {
		all := []string{`1`, `null`, `{}`, `[]`, `{"w":"0000000G","n":0,"t":5,"root":"` + id(r) + `"}`, `{"w":"00000000","n":-1,"t":5,"root":"` + id(r) + `"}`, `{"w":"00000000","n":1,"t":5,"root":"` + id(r) + `"}`,
			`{"w":"00000000","n":0,"t":5,"root":"x"}`, `{"w":"00000000","n":3,"t":5,"prev":"` + id(r) + `","root":"` + id(r) + `","void":[[3,"` + id(r) + `"]]}`, `{"w":"00000000","n":9,"t":5,"prev":"` + id(r) + `","root":"` + id(r) + `","open":[[4,5],[2,3]]}`,
			`{"w":"00000000","n":0,"t":5,"prev":"` + id(r) + `","root":"` + id(r) + `"}`, `{"w":"00000000","n":9,"t":5,"prev":"` + id(r) + `","root":"` + id(r) + `","after":[{"w":"00000001","n":1,"id":"` + id(r) + `"}]}`}
		for range 3 {
			member := pick(r, all)
			events = append(events, chainEvent{id(r), 5, `{"slug":"mem/bad","value":"x","chain":` + member + `}`})
		}
	}
	r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	return events
}

func id(r *rand.Rand) string {
	var b [32]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(b[:])
}

// written is what one writer wrote.
func written(t *testing.T, r *rand.Rand) (events []chainEvent) {
	var tree writerlog.Tree
	w, ids, prev := id(r)[:8], []string{}, ""
	add := func(l writerlog.Link, id string) {
		events = append(events, chainEvent{id, 1000 + l.N, fmt.Sprintf(`{"slug":"mem/m%d","value":%s,"chain":%s}`, l.N%4, pick(r, []string{`"x"`, `null`}), l.JSON())})
	}
	for n := range int64(1 + r.IntN(11)) {
		l := writerlog.Link{W: w, N: n, T: 1000 + n, Prev: prev, Root: tree.Root(n)}
		this := id(r)
		if n > 1 && r.IntN(8) == 0 {
			v := r.Int64N(n)
			l.Void = []writerlog.Num{{N: v, ID: ids[v]}}
		}
		if n > 2 && r.IntN(8) == 0 {
			l.Open = writerlog.Spans([]int64{r.Int64N(n - 1), n - 1})
		}
		if n == 0 && r.IntN(3) == 0 {
			l.After = []writerlog.Head{{W: id(r)[:8], N: 7, ID: id(r)}}
		}
		fault := r.IntN(30)
		switch {
		case fault == 0:
			l.Root[5] ^= 1
		case fault == 1 && n > 0:
			l.Prev = id(r)
		case fault == 2:
			l.T++
		case fault == 3:
			other := l
			other.Root[0] ^= byte(r.IntN(2))
			add(other, id(r))
		}
		if fault < 4 || fault > 6 || r.IntN(2) == 0 {
			add(l, this) // else it is nowhere
		}
		leaf, ok := writerlog.ParseID(this)
		if !ok {
			t.Fatal("no id")
		}
		tree.Append(leaf)
		ids, prev = append(ids, this), this
	}
	if r.IntN(3) == 0 { // a log unit, which may be another's, or none
		u := writerlog.Unit{W: w}
		for _, id := range ids[:r.IntN(len(ids)+1)] {
			leaf, _ := writerlog.ParseID(id)
			u.IDs = append(u.IDs, leaf)
		}
		if r.IntN(4) == 0 {
			n := r.IntN(len(ids))
			u.Void, u.First = []writerlog.Num{{N: int64(n), ID: ids[n]}}, int64(n)*int64(r.IntN(2))
		}
		slug := pick(r, []nipae.Slug{writerlog.UnitSlug(w, 0), writerlog.UnitSlug(w, 0), writerlog.VoidSlug(w, u.First), writerlog.UnitSlug(w, 1), "mem/sys/log/x"})
		text := pick(r, []string{u.Text(), u.Text(), u.Text(), strings.Replace(u.Text(), "log 1", "log 2", 1), u.Text() + "x\n", strings.TrimSuffix(u.Text(), "\n"), strings.Replace(u.Text(), "first ", "first 0", 1)})
		value, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, chainEvent{id(r), 2000, `{"slug":"` + string(slug) + `","value":` + string(value) + `}`})
	}
	return events
}

// chainCaseOf judges as engramctl verify does.
func chainCaseOf(t *testing.T, events []chainEvent) chainCase {
	t.Helper()
	in := writerlog.Evidence{Events: map[string]writerlog.Event{}, Relays: []writerlog.Shown{{URL: "A", Whole: true, History: true}}, Now: 10_000}
	c := chainCase{Events: append([]chainEvent{}, events...), Logs: []chainLog{}}
	for _, e := range events {
		body, err := nipae.ParseBody([]byte(e.Body))
		if err != nil {
			t.Fatal(err)
		}
		id := in.Add(nipae.Engram{Event: &nostr.Event{ID: e.ID, CreatedAt: nostr.Timestamp(e.At), Tags: nostr.Tags{{"d", string(body.Slug())}}}, Body: body})
		in.Relays[0].Heads = append(in.Relays[0].Heads, id)
	}
	report := writerlog.Judge(in)
	logs := map[string]*chainLog{}
	for _, e := range in.Events {
		if e.Link == nil {
			continue
		}
		if logs[e.Link.W] == nil {
			logs[e.Link.W] = &chainLog{W: e.Link.W, Forked: []int64{}, Root: []int64{}, Gap: []int64{}}
		}
		logs[e.Link.W].Last = max(logs[e.Link.W].Last, e.Link.N)
	}
	for _, l := range logs {
		for _, f := range report.Findings {
			switch {
			case f.W != l.W || f.N > l.Last:
			case f.Kind == writerlog.Forked:
				l.Forked = append(l.Forked, f.N)
			case f.Kind == writerlog.Rewritten:
				l.Root = append(l.Root, f.N)
			}
		}
		for n := range l.Last + 1 {
			if !accounted(in, l.W, n) {
				l.Gap = append(l.Gap, n)
			}
		}
		c.Logs = append(c.Logs, *l)
	}
	slices.SortFunc(c.Logs, func(a, b chainLog) int { return strings.Compare(a.W, b.W) })
	c.Unchained = report.Unchained
	return c
}

// accounted reports whether a number is there, void, open or in a log unit.
func accounted(in writerlog.Evidence, w string, n int64) bool {
	isVoid := func(v writerlog.Num) bool { return v.N == n }
	for _, e := range in.Events {
		if l := e.Link; l != nil && l.W == w && (l.N == n || slices.ContainsFunc(l.Void, isVoid) || l.IsOpen(n)) {
			return true
		}
	}
	for _, u := range in.Units {
		if u.W == w && (n >= u.First && n < u.First+int64(len(u.IDs)) || slices.ContainsFunc(u.Void, isVoid)) {
			return true
		}
	}
	return false
}
