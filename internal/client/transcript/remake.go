package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
	"engramd/internal/client/evidence"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// made is what a transcript is made of. Of its events only the ids count: what is
// signed is taken from the events themselves.
type made struct {
	Format int
	Options
	Thread contract.Thread
}

// format is of the transcript's words and layout. Raise it when either changes: an
// honest export of another version is not a forged one.
const format = 1

var errFormat = errors.New("it is of another version of engramctl, and only that makes it again")

// maxParts bounds the entries, the moves and the gaps that a transcript is made of.
const maxParts = 100_000

// few is a list that is counted and not kept: an element costs hundreds of times
// the memory that it has bytes.
type few struct{}

// UnmarshalJSON fails on a list of more than maxParts.
func (*few) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return err // another type is refused where it is read
	}
	for n := 0; d.More(); n++ {
		if n == maxParts {
			return evidence.ErrInput
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return err
		}
	}
	return nil
}

// read reads what Unsigned wrote.
func read(text []byte) (m made, err error) {
	var sizes struct {
		Relays, Notes few
		Thread        struct {
			Entries, Moves few
			Order          struct{ Items, Gaps, Keys few }
		}
	}
	if json.Unmarshal(text, &sizes) != nil || json.Unmarshal(text, &m) != nil {
		return m, fmt.Errorf("%w: %s is none of its files", evidence.ErrInput, evidence.UnsignedFile)
	}
	if m.Format != format {
		return m, errFormat
	}
	return m, nil
}

// Unsigned writes that of a thread, and nothing that the transcript leaves out.
func Unsigned(w io.Writer, t contract.Thread, o Options) error {
	if t.Entries = slices.Clone(t.Entries); o.Closed {
		for i := range t.Entries {
			if e := &t.Entries[i]; e.Sealed {
				e.Content, e.Attachments = "", nil
			}
		}
	}
	return json.NewEncoder(w).Encode(made{format, o, t})
}

// Remake writes the transcript of an export: what is signed from its events,
// which the report has verified, and the rest from its words. words is how many
// of its parts nobody has signed.
func Remake(w io.Writer, f evidence.Files, r evidence.Report) (words int, err error) {
	m, err := read(f.Unsigned)
	if err != nil {
		return 0, err
	}
	again := remaking{r: r, opened: map[string]contract.Entry{}, requests: requestsOf(r)}
	for _, e := range r.Disclosed {
		again.opened[e.EventID] = e
	}
	t := m.Thread
	if err := again.entries(t.Entries, m.Closed); err != nil {
		return 0, err
	}
	if err := again.contract(&t); err != nil {
		return 0, err
	}
	if err := again.order(&t); err != nil {
		return 0, err
	}
	return again.words, Markdown(w, t, m.Options)
}

// remaking is one transcript that is made again.
type remaking struct {
	r        evidence.Report
	opened   map[string]contract.Entry // disclosed ones, by their events
	requests map[string]*nostr.Event   // to withdraw, by what they name and their author
	words    int
}

// entries sets what is signed of entries. All that are here must be among them.
func (m *remaking) entries(all []contract.Entry, closed bool) (err error) {
	left := map[string]bool{}
	for _, ev := range m.r.Events() {
		left[ev.ID] = ev.Kind == niptemp.KindEntry
	}
	for i := range all {
		e := &all[i]
		if e.Event == nil {
			if m.words++; e.Signature != contract.SignatureNone {
				e.Signature = contract.SignatureUnseen
			}
			continue
		}
		if !left[e.Event.ID] {
			return fmt.Errorf("event %.70q is not here, or in it twice", e.Event.ID)
		}
		left[e.Event.ID] = false
		if *e, err = m.signed(*e, closed); err != nil {
			return err
		}
	}
	for id, missing := range left {
		if missing {
			return fmt.Errorf("entry %s is not in it", id)
		}
	}
	return nil
}

// contract sets what states say of the contract, and its moves.
func (m *remaking) contract(t *contract.Thread) (err error) {
	said, states := map[string]contract.Move{}, []*nostr.Event{}
	for _, v := range t.Moves {
		if v.Event != nil {
			said[v.Event.ID] = v
		}
	}
	for _, ev := range m.r.Events() {
		if ev.Kind == niptemp.KindState {
			states = append(states, ev)
		}
	}
	t.Contract.ID = cmp.Or(m.r.Contract, t.Contract.ID)
	t.Contract.Poster.PubKey, t.Contract.Worker.PubKey = m.r.Poster, m.r.Worker
	t.Contract, t.Moves = contract.Signed(t.Contract, states, m.r.Places())
	if t.Contract.Decided != "" && t.Contract.DecidedEvent == "" {
		m.words++
	}
	if t.Contract.Arbitrator.PubKey != t.Contract.Agreed.Arbitrator {
		m.words++
	}
	for i := range t.Moves {
		v, known := &t.Moves[i], said[t.Moves[i].Event.ID]
		if v.N == 0 {
			v.N, v.ArrivedAt = known.N, known.ArrivedAt
		}
		v.ArrivedAt = cmp.Or(v.ArrivedAt, known.ArrivedAt)
		if v.Withdrawn, err = m.withdrawal(known.Withdrawn, v.Event); err != nil {
			return err
		}
	}
	return nil
}

// order sets what is signed of the order of arrival. What had to go has its number
// in it; the rest of a gap is a word.
func (m *remaking) order(t *contract.Thread) error {
	o := m.r.Order()
	if o == nil || t.Order == nil {
		t.Order = o
		return nil
	}
	t.Order.Event, t.Order.Keys = o.Event, o.Keys
	went := map[int64]int64{}
	for _, item := range o.Items {
		if item.ID == "" {
			went[item.N] = item.ReceivedAt
		}
	}
	for i := range t.Order.Gaps {
		g := &t.Order.Gaps[i]
		at, signed := went[g.N]
		if !signed {
			return fmt.Errorf("number %d is no gap of the order, or in it twice", g.N)
		}
		delete(went, g.N)
		g.ReceivedAt = at
		m.words++
	}
	return nil
}

// signed returns an entry as its event says it, with what is not signed of it.
func (m *remaking) signed(e contract.Entry, closed bool) (contract.Entry, error) {
	ev := m.r.Event(e.Event.ID)
	s, ok := contract.EntryOf(ev)
	if !ok {
		return s, fmt.Errorf("event %s is no entry", ev.ID)
	}
	s.Author.AgentID, s.Signature = e.Author.AgentID, e.Signature
	if s.Signature != contract.SignatureDiffers && !(s.Sealed && e.ByRelay) {
		s.Signature = contract.SignatureHolds
	}
	s.N, s.ArrivedAt = e.N, e.ArrivedAt
	if item, ok := m.r.Places()[ev.ID]; ok {
		s.N, s.ArrivedAt = item.N, item.ReceivedAt
	}
	if s.Sealed { // the payload is signed, and not what it says
		s.Content, s.Attachments, s.Unreadable, s.ByRelay = e.Content, e.Attachments, e.Unreadable, e.ByRelay
		s.Committed = e.Committed && ev.Tags.Find(nipae.CommitTag) != nil
		if ev.Tags.Find("agentry:entry").Value() == "" {
			s.EntryID = e.EntryID
		}
		d, disclosed := m.opened[ev.ID]
		switch {
		case e.Unreadable || closed:
		case disclosed:
			s.EntryID, s.Content, s.Attachments, s.Committed = d.EntryID, d.Content, d.Attachments, d.Committed
		default:
			m.words++
		}
	}
	if s.Signature == contract.SignatureDiffers {
		m.words++
	}
	var err error
	s.Withdrawn, err = m.withdrawal(e.Withdrawn, ev)
	return s, err
}

// requestsOf returns the signed requests to withdraw, by what they name and their
// author; of those that name all until their date the newest.
func requestsOf(r evidence.Report) map[string]*nostr.Event {
	all := map[string]*nostr.Event{}
	for _, ev := range r.Events() {
		if ev.Kind != nostr.KindDeletion {
			continue
		}
		for _, tag := range ev.Tags {
			if len(tag) < 2 || tag[0] != "e" && tag[0] != "a" {
				continue
			}
			if had := all[tag[1]+ev.PubKey]; had == nil || had.CreatedAt < ev.CreatedAt {
				all[tag[1]+ev.PubKey] = ev
			}
		}
	}
	return all
}

// withdrawal returns one with its signed request, if there is one, whatever is said
// of it.
func (m *remaking) withdrawal(w *contract.Withdrawal, of *nostr.Event) (*contract.Withdrawal, error) {
	by := m.requests[of.ID+of.PubKey]
	if all := m.requests[fmt.Sprintf("%d:%s:%s%s", of.Kind, of.PubKey, m.r.Contract, of.PubKey)]; by == nil && all != nil && all.CreatedAt >= of.CreatedAt {
		by = all
	}
	switch {
	case by == nil && w == nil:
		return nil, nil
	case by == nil && w.Event != nil:
		return nil, fmt.Errorf("%.70q is no request to withdraw %s", w.Event.ID, of.ID)
	case by == nil:
		m.words++
		return w, nil
	case w == nil:
		return &contract.Withdrawal{At: int64(by.CreatedAt), Request: by.ID, Event: by}, nil
	}
	return &contract.Withdrawal{At: w.At, Request: by.ID, Event: by}, nil
}

// Check makes the transcript of an export again and compares it.
func Check(f evidence.Files, r evidence.Report) evidence.Check {
	k := evidence.Check{Name: "transcript", Outcome: evidence.NotChecked}
	switch {
	case f.Transcript == nil:
		k.Detail = "there is no " + evidence.TranscriptFile
		return k
	case f.Unsigned == nil:
		k.Outcome, k.Detail = evidence.NotProved, "without "+evidence.UnsignedFile+" it cannot be made again, and may say anything; what is signed is in "+evidence.EventsFile
		return k
	}
	var again bytes.Buffer
	words, err := Remake(&again, f, r)
	if errors.Is(err, errFormat) {
		k.Outcome, k.Detail = evidence.NotProved, err.Error()+"; what is signed is in "+evidence.EventsFile
		return k
	}
	if err == nil && !bytes.Equal(again.Bytes(), f.Transcript) {
		err = fmt.Errorf("%s is not what the events say", evidence.TranscriptFile)
	}
	k.Outcome, k.Detail = evidence.OK, fmt.Sprintf("made again from the events, it is the same; %d parts are the exporter's word or a relay's, and are marked so", words)
	if err != nil {
		k.Outcome, k.Detail, k.Problems = evidence.Failed, "it was changed, or made of other events", []string{err.Error()}
	}
	return k
}
