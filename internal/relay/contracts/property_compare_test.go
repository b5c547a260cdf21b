package contracts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/evidence"
	"engramd/internal/e2e/inprocess/model"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/nips/niptemp"
)

// compare fails unless every surface shows each key, and nobody, what the model
// says of a contract.
func (p *play) compare(id string) {
	p.t.Helper()
	for _, k := range append(p.cast.All(), model.Key{Name: "nobody"}) {
		want, got := p.model.View(id, k.Pub, p.byName), p.view(id, k.Pub)
		p.model.Name(got, want)
		if want != nil && got != nil {
			got.Role, got.Local, got.Second, got.Astray, got.Gaps = want.Role, want.Local, want.Second, want.Astray, want.Gaps
		}
		if !reflect.DeepEqual(got, want) {
			p.t.Errorf("contract %s is to %s\n%+v, want\n%+v", id, k.Name, got, want)
		}
		p.compareRelay(id, k)
		if want != nil && (want.Role == "poster" || want.Role == "worker") {
			p.compareExport(id, k, want)
		}
	}
}

// view returns what the API shows a key; nil for nothing.
func (p *play) view(id, key string) *model.View {
	p.t.Helper()
	c, v := Caller{PubKey: key}, &model.View{}
	ctx := p.t.Context()
	entries, err := p.Entries(ctx, c, id, EntryQuery{Limit: 500})
	if code := CodeOf(err); code == NotFound || code == Unauthenticated {
		return nil
	} else if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range entries.Entries {
		eventID := strings.TrimPrefix(e.EntryID, "mem_") // the arbitrator is told nothing else of a sealed entry
		if e.NostrEventID != nil {
			eventID = *e.NostrEventID
		} else if e.Sealed == nil {
			p.t.Errorf("an entry that the relay took is not published: %+v", e)
		}
		v.Entries = append(v.Entries, lineOf(e.N, e.ReceivedAt, eventID, e.Withdrawn))
	}
	moves, err := p.Transitions(ctx, c, id, TransitionQuery{Limit: 500})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range moves.Transitions {
		v.By = append(v.By, m.MovedBy)
		if m.NostrEventID == nil {
			v.Moves = append(v.Moves, model.LocalMove+string(m.Status))
		} else {
			v.Moves = append(v.Moves, lineOf(m.N, m.ReceivedAt, *m.NostrEventID, m.Withdrawn))
		}
	}
	if entries.Total != len(v.Entries) || moves.Total != len(v.Moves) {
		p.t.Errorf("%d entries and %d moves are counted, %d and %d listed", entries.Total, moves.Total, len(v.Entries), len(v.Moves))
	}
	order, err := p.Order(ctx, c, id)
	if err == nil {
		v.Order = orderLines(order)
	} else if code := CodeOf(err); code != NotFound && code != Unauthenticated {
		p.t.Fatal(err)
	}
	// A stranger is not told whose a contract is, so the store is asked.
	pair, err := p.store.ContractPair(ctx, id, key, "")
	if err == nil && pair == nil {
		pair, err = p.store.ContractTalk(ctx, id, key)
	}
	if err != nil || pair == nil {
		p.t.Fatalf("contract %s: %v", id, err)
	}
	v.Poster, v.Worker, v.Status = pair.Poster, pair.Worker, pair.Status
	offered, agreed, err := p.store.TermsOf(ctx, pair)
	if err != nil {
		p.t.Fatal(err)
	}
	v.Offered, v.Agreed = model.Terms(offered), model.Terms(agreed)
	got, err := p.Get(ctx, c, id)
	switch {
	case err == nil:
		if got.PosterPubKey != pair.Poster || string(got.Status) != pair.Status || !reflect.DeepEqual(got.Agreed, shownTerms(agreed)) {
			p.t.Errorf("the contract is shown as %+v, and is %+v", got, pair)
		}
	case CodeOf(err) != NotFound && CodeOf(err) != Unauthenticated:
		p.t.Fatal(err)
	}
	return v
}

func lineOf(n *int64, received time.Time, id string, w *Withdrawal) string {
	if n == nil {
		return model.Line(false, 0, 0, id, "")
	}
	return model.Line(true, *n, received.Unix(), id, withdrawnText(w != nil, func() json.RawMessage { return w.Event }))
}

// withdrawnText describes, as the model does, the request that withdrew
// something.
func withdrawnText(is bool, event func() json.RawMessage) string {
	if !is {
		return ""
	}
	var id string
	if json.Unmarshal(event(), &id) == nil && len(id) == 64 {
		return "withdrawn by " + id[:12]
	}
	ev, err := wire.ParseEvent(event())
	if err != nil || wire.Verify(ev) != nil {
		return "withdrawn by nothing"
	}
	return "withdrawn signed " + ev.ID[:12]
}

func orderLines(o Order) (lines []string) {
	items, err := niptemp.ParseOrder(o.Lines)
	if err != nil {
		return []string{err.Error()}
	}
	gaps := map[int64]Gap{}
	for _, g := range o.Gaps {
		gaps[g.N] = g
	}
	for _, i := range items {
		if i.ID != "" {
			lines = append(lines, model.Line(true, i.N, i.ReceivedAt, i.ID, ""))
			continue
		}
		g, created := gaps[i.N], int64(0)
		if g.CreatedAt != nil {
			created = g.CreatedAt.Unix()
		}
		lines = append(lines, model.Gap(i.N, i.ReceivedAt, g.Type, g.Role, string(g.Status), string(g.PreviousStatus), created))
	}
	return lines
}

// compareRelay compares what a reader is shown by REQ, COUNT and /history.
func (p *play) compareRelay(id string, k model.Key) {
	p.t.Helper()
	ctx := relay.WithReader(p.t.Context(), gate.NewReader(k.Pub))
	filter := nostr.Filter{Kinds: []int{niptemp.KindEntry, niptemp.KindState}, Tags: nostr.TagMap{"d": {id}}}
	for q, change := range map[model.Request]func(*nostr.Filter){
		model.ByContract: func(*nostr.Filter) {},
		model.Mine:       func(f *nostr.Filter) { f.Authors = []string{k.Pub} },
		model.ToMe:       func(f *nostr.Filter) { f.Tags = nostr.TagMap{"d": {id}, "p": {k.Pub}} },
	} {
		if k.Pub == "" && q != model.ByContract {
			continue
		}
		f := filter.Clone()
		change(&f)
		want, refused := p.model.Heads(id, k.Pub, q, p.byName)
		got, err := p.heads(ctx, f)
		if (err != nil) != refused || !slices.Equal(got, want) {
			p.t.Errorf("%s asks for %v and gets %q (%v), want %q, refused %v", k.Name, f, short(got), err, short(want), refused)
		}
	}
	p.compareLive(ctx, id, k, filter)
	if k.Pub == "" {
		return
	}
	for _, author := range p.cast.All() {
		for _, kind := range filter.Kinds {
			if want, got := p.model.History(id, author.Pub, kind, k.Pub), p.history(ctx, id, author.Pub, kind); !slices.Equal(got, want) {
				p.t.Errorf("%s is shown as history of %s, kind %d, contract %s\n%q, want\n%q", k.Name, author.Name, kind, id, got, want)
			}
		}
	}
}

// compareLive compares which of all events a reader would get live.
func (p *play) compareLive(ctx context.Context, id string, k model.Key, f nostr.Filter) {
	p.t.Helper()
	granted, err := p.relay.Authorize(ctx, gate.SurfaceReq, []nostr.Filter{f})
	if err != nil {
		return // compared already
	}
	for _, taken := range p.model.Taken {
		ev := taken.Event
		if ev.Kind != niptemp.KindEntry && ev.Kind != niptemp.KindState || ev.Tags.GetD() != id {
			continue
		}
		d := &relay.Delivery{Event: ev, Subject: gate.SubjectOf(p.rules.Classify(ev), ev)}
		if got, want := p.relay.CanRead(granted[0].Scope, d), p.model.Hears(ev, k.Pub, p.byName); got != want {
			p.t.Errorf("%s listens to contract %s and is told %v of %s, want %v", k.Name, id, got, p.told(ev, taken.Import), want)
		}
	}
}

func short(ids []string) (out []string) {
	for _, id := range ids {
		out = append(out, id[:12])
	}
	return out
}

// heads returns the answer to REQ, which COUNT must match.
func (p *play) heads(ctx context.Context, f nostr.Filter) (ids []string, err error) {
	p.t.Helper()
	granted, err := p.relay.Authorize(ctx, gate.SurfaceReq, []nostr.Filter{f})
	counting, refused := p.relay.Authorize(ctx, gate.SurfaceCount, []nostr.Filter{f})
	if err != nil || refused != nil {
		return nil, err
	}
	stream := p.relay.Stored(granted, p.relay.Now())
	for done := false; !done; {
		rows, last, err := stream.Next(ctx, 500, 1<<20)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, row := range rows {
			ids = append(ids, fmt.Sprintf("%x", row.ID))
		}
		done = last
	}
	n, err := p.relay.Count(ctx, counting)
	if err != nil || n != int64(len(ids)) {
		p.t.Errorf("%v: COUNT %d (%v), and %d come", f, n, err, len(ids))
	}
	slices.Sort(ids)
	return ids, nil
}

func (p *play) history(ctx context.Context, id, author string, kind int) (lines []string) {
	p.t.Helper()
	versions, err := p.relay.History(ctx, relay.HistoryQuery{Kind: kind, Author: author, D: &id, Arrivals: true})
	if err != nil {
		p.t.Fatal(err)
	}
	for done := false; !done; {
		rows, last, err := versions.Next(ctx, 500, 1<<20)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, row := range rows {
			var v struct {
				ID         string    `json:"id"`
				N          int64     `json:"n"`
				ReceivedAt time.Time `json:"received_at"`
				Withdrawn  *struct {
					Event json.RawMessage `json:"event"`
				} `json:"withdrawn"`
			}
			if err := json.Unmarshal(row.JSON, &v); err != nil {
				p.t.Fatal(err)
			}
			lines = append(lines, model.Line(true, v.N, v.ReceivedAt.Unix(), v.ID,
				withdrawnText(v.Withdrawn != nil, func() json.RawMessage { return v.Withdrawn.Event })))
		}
		done = last
	}
	return lines
}

// compareExport verifies what a party can hand over.
func (p *play) compareExport(id string, k model.Key, want *model.View) {
	p.t.Helper()
	ctx, c := p.t.Context(), Caller{PubKey: k.Pub}
	entries := must[EntryPage](p.t)(p.Entries(ctx, c, id, EntryQuery{Limit: 500, Events: true}))
	moves := must[TransitionPage](p.t)(p.Transitions(ctx, c, id, TransitionQuery{Limit: 500}))
	order := must[Order](p.t)(p.Order(ctx, c, id))
	files := evidence.Files{}
	add := func(event json.RawMessage, w *Withdrawal) {
		if event != nil {
			files.Events = append(append(files.Events, event...), '\n')
		}
		if w != nil && bytes.HasPrefix(w.Event, []byte("{")) {
			files.Events = append(append(files.Events, w.Event...), '\n')
		}
	}
	for _, m := range moves.Transitions {
		add(m.Event, m.Withdrawn)
	}
	for _, e := range entries.Entries {
		add(e.Event, e.Withdrawn)
	}
	if len(files.Events) == 0 {
		return
	}
	var err error
	if files.Order, err = json.Marshal(order); err != nil {
		p.t.Fatal(err)
	}
	r, err := evidence.Verify(files, evidence.Options{Relay: p.self.Pub})
	if err != nil {
		p.t.Fatal(err)
	}
	whole := !want.Astray && !want.Gaps
	if whole && !r.Holds() {
		p.t.Errorf("the export of %s by %s does not hold: %+v", id, k.Name, r.Checks)
	}
	if whole && !want.Local && want.Status != "" && (r.Status != want.Status || r.Poster != want.Poster || r.Worker != want.Worker) {
		p.t.Errorf("the export of %s says %s %s %s, want %+v", id, r.Poster, r.Worker, r.Status, want)
	}
}
