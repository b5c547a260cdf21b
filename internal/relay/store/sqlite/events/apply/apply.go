// Package apply is what an event does to the database: heads and history, deletion,
// vanishing, copies of other relays, and what housekeeping removes of all that. It
// tells those who keep tables beside events (Participants), and knows none of them.
package apply

import (
	"sync/atomic"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/rot"
	"engramd/internal/relay/store/sqlite/events/search"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// Pending is an event on its way to disk.
type Pending struct {
	engine.Member
	Rec   *record.Record
	Opts  store.PutOptions
	Asked bool         // SubmitEvent: the lists are asked
	Sent  fairness.Who // by whom, of a store that is one of several: its turn came before
	Place store.LogPlace
}

// Command is the event as a command of a store that is one of several.
func (p *Pending) Command() store.Command {
	o := &p.Opts
	if o.Replica || o.Import {
		return p.Put()
	}
	p.Asked = true
	return store.SubmitEvent{Event: p.Rec.JSON, Base: o.Base, Forward: o.Forward, KnownOnly: o.KnownOnly, Vouched: o.Vouched}
}

// Put is the command that stores the event, asking nobody.
func (p *Pending) Put() store.Command {
	o := &p.Opts
	if o.Replica {
		return store.PutCopy{Event: p.Rec.JSON, Past: o.Past}
	}
	return store.PutEvent{Event: p.Rec.JSON, Import: o.Import, Base: o.Base, Forward: o.Forward, KnownOnly: o.KnownOnly}
}

// who sent it.
func (p *Pending) who() fairness.Who {
	if p.Sent != (fairness.Who{}) {
		return p.Sent
	}
	return p.Who()
}

// Writer decides what becomes of events, and of what they ask to be removed.
type Writer struct {
	remover
	Admit func(p *Pending) (*nip01.Refusal, error) // asks the lists about a client's event; nil lets all pass
}

// NewWriter makes one that asks nobody about clients' events. on says whether the
// full-text index exists, waiting how many wait for the writer.
func NewWriter(tx ledger.Tx, table *gate.Table, known *rot.Known, on *atomic.Bool, waiting func() int) *Writer {
	w := &Writer{}
	w.Tx, w.Table = tx, table
	w.healing = healing{tx: &w.Tx, keys: &w.Keys, Rot: known, Classes: table}
	w.Text = search.Index{Tx: &w.Tx, On: on, Waiting: waiting, UpTo: -1}
	w.Usage.Tx, w.Keys.Tx = &w.Tx, &w.Tx
	w.parts = []ledger.Part{&w.Text, &w.Usage, &w.Keys}
	return w
}

// whyExpired answers an event whose NIP-40 time came between the policy's look
// at it and the writer's.
var whyExpired = nip01.Refuse(nip01.PrefixInvalid, "the event has expired")

// Decide decides what becomes of one event, in this order: expired, banned, this
// very event, deleted before, rolled back, the contract's lifecycle, a newer head,
// quota. What it changed is undone when it fails or refuses.
//
// The lifecycle comes after "deleted" and before "newer": sending an accepted
// event again is a duplicate and no second move, while a move that comes too
// late must not be answered as if it had been taken.
func (w *Writer) Decide(p *Pending) (store.Result, error) {
	r := p.Rec
	if r.Expires != 0 && r.Expires <= w.Now {
		return store.Result{Outcome: store.Refused, Why: whyExpired}, nil
	}
	if p.Asked && w.Admit != nil {
		if refusal, err := w.Admit(p); err != nil || refusal != nil {
			return store.Result{Outcome: store.Refused, Why: refusal}, err
		}
	}
	if banned, err := w.Others.Admin.Banned(r.ID); err != nil || banned {
		return store.Result{Outcome: store.Deleted, Why: store.WhyBanned}, err
	}
	opts := p.Opts
	opts.Import = opts.Import || opts.Replica
	request, withdrawn, before, err := w.met(r, opts.Import)
	if err == nil && opts.Past && before.Outcome == store.Duplicate {
		if past, err := w.isPast(r); err != nil || past {
			return store.Result{Outcome: store.Replaced}, err
		}
	}
	if err != nil || before.Outcome != 0 {
		return before, err
	}
	if gone, err := w.rolledBack(r, p.Opts.Import); err != nil || gone {
		return store.Result{Outcome: store.Deleted, Why: store.WhyRolledBack}, err
	}
	if conflict, err := w.misses(r, p.Opts.Base); err != nil || conflict {
		return store.Result{Outcome: store.Conflict, Why: store.WhyConflict}, err
	}
	usage, err := w.Usage.Before(r)
	if err != nil {
		return store.Result{}, err
	}
	if refusal := w.Usage.SurelyOverQuota(r, usage, &p.Opts); refusal != nil {
		return store.Result{Outcome: store.Refused, Why: refusal}, nil
	}
	if refusal, err := w.judgeContract(r, opts); err != nil || refusal != nil {
		return store.Result{Outcome: store.Refused, Why: refusal}, err
	}
	if err := w.effects(r); err != nil {
		return store.Result{}, err
	}
	var result store.Result
	switch {
	case opts.Replica:
		result, err = w.placeCopy(r, opts.Past, withdrawn, request)
	case withdrawn:
		result, err = store.Result{Outcome: store.Stored}, w.keepWithdrawn(r, request)
	default:
		result, err = w.place(r)
	}
	if err != nil {
		return store.Result{}, err
	}
	if result.Outcome == store.Stale && r.Event.Kind == niptemp.KindEntry && !p.Opts.Import {
		result = w.said(r)
	}
	if refusal := w.Usage.OverQuota(r, usage, &p.Opts); refusal != nil {
		return store.Result{Outcome: store.Refused, Why: refusal}, nil
	}
	if len(p.Opts.Forward) > 0 && record.IsContract(r.Event.Kind) {
		err = w.Others.Outbox.Forward(r.Event, r.JSON, p.Opts.Forward)
	}
	return result, err
}

// effects does what an event asks for that is about to be stored: before that,
// so that a deletion finds room in a full database.
func (w *Writer) effects(r *record.Record) error {
	switch r.Event.Kind {
	case record.KindDeletion:
		return w.delete(r)
	case record.KindVanish:
		return w.vanish(r, w.Seq+1)
	}
	return nil
}

// judgeContract has contract memory judged before it is stored, in the
// transaction that stores it. A refusal is for the client.
func (w *Writer) judgeContract(r *record.Record, opts store.PutOptions) (*nip01.Refusal, error) {
	if !record.IsContract(r.Event.Kind) {
		return nil, nil
	}
	return w.Others.Contracts.Judge(r.Event, opts)
}

// Apply applies an event.
func (w *Writer) Apply(m *engine.Member) (store.Result, error) {
	w.current = m.Of.(*Pending)
	defer func() { w.current = nil }()
	r, err := w.Decide(w.current)
	if w.Placed && err == nil {
		w.Executed(w.current.Place, r.Outcome, [32]byte(w.current.Rec.ID))
	}
	return r, err
}

// Risky reports whether an event may be refused after it changed something: by
// a quota that is only known to be exceeded when it is clear what the write
// frees.
func (w *Writer) Risky(m *engine.Member) bool {
	r := m.Of.(*Pending).Rec
	return (r.D != nil || r.Event.Kind == record.KindDeletion) && w.Usage.MayExceed(r)
}

// Restore stores an event that a restore brings, a superseded version as such.
// Live readers are not told of it one by one.
func (w *Writer) Restore(r *record.Record, version bool) (store.Result, error) {
	put, others := w.applyImport, len(w.committed)
	if version {
		put = w.applyVersion
	}
	result, err := put(r)
	if err == nil {
		w.committed = w.committed[:others]
	}
	return result, err
}

// applyImport is apply for an event that no Put brought.
func (w *Writer) applyImport(r *record.Record) (store.Result, error) {
	return w.Decide(&Pending{Rec: r, Opts: store.PutOptions{Import: true}})
}

// applyVersion stores a superseded version as such: it never becomes head, also
// where nothing newer is known, and no older version stays head: it was
// superseded by this one.
func (w *Writer) applyVersion(r *record.Record) (store.Result, error) {
	if !record.HasHistory(r) {
		return w.applyImport(r)
	}
	if r.Expires != 0 && r.Expires <= w.Now {
		return store.Result{Outcome: store.Refused, Why: whyExpired}, nil
	}
	if banned, err := w.Others.Admin.Banned(r.ID); err != nil || banned {
		return store.Result{Outcome: store.Deleted}, err
	}
	request, withdrawn, before, err := w.met(r, true)
	if err != nil || before.Outcome != 0 {
		return before, err
	}
	if _, err := w.rolledBack(r, true); err != nil {
		return store.Result{}, err
	}
	if _, err := w.judgeContract(r, store.PutOptions{Import: true}); err != nil {
		return store.Result{}, err
	}
	if withdrawn {
		return store.Result{Outcome: store.Stored}, w.keepWithdrawn(r, request)
	}
	if !w.keepsVersions(r) {
		return store.Result{Outcome: store.Stale, Why: store.WhyStale}, nil
	}
	if _, err := w.head(r); err != nil { // one that has expired leaves a floor
		return store.Result{}, err
	}
	if why, err := w.belowFloor(r); err != nil || why == store.WhyExpired {
		return store.Result{Outcome: store.Stale, Why: why}, err
	}
	if _, err := w.overtake(r); err != nil {
		return store.Result{}, err
	}
	return w.keepCopy(r)
}
