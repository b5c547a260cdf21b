package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	Options
	Thread contract.Thread
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
	return json.NewEncoder(w).Encode(made{o, t})
}

// Remake writes the transcript of an export: what is signed from its events,
// which the report has verified, and the rest from its words. words is how many
// of its parts nobody has signed.
func Remake(w io.Writer, f evidence.Files, r evidence.Report) (words int, err error) {
	var m made
	if json.Unmarshal(f.Unsigned, &m) != nil {
		return 0, fmt.Errorf("%w: %s is none of its files", evidence.ErrInput, evidence.UnsignedFile)
	}
	t, left := m.Thread, map[string]bool{}
	var states []*nostr.Event
	for _, ev := range r.Events() {
		if left[ev.ID] = ev.Kind == niptemp.KindEntry; ev.Kind == niptemp.KindState {
			states = append(states, ev)
		}
	}
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Event == nil {
			if words++; e.Signature != contract.SignatureNone {
				e.Signature = contract.SignatureUnseen
			}
			continue
		}
		if !left[e.Event.ID] {
			return 0, fmt.Errorf("event %.70q is not here, or in it twice", e.Event.ID)
		}
		left[e.Event.ID] = false
		if *e, err = signed(*e, r); err != nil {
			return 0, err
		}
	}
	for id, missing := range left {
		if missing {
			return 0, fmt.Errorf("entry %s is not in it", id)
		}
	}
	said := map[string]contract.Move{}
	for _, v := range t.Moves {
		if v.Event != nil {
			said[v.Event.ID] = v
		}
	}
	t.Contract.Poster.PubKey, t.Contract.Worker.PubKey = r.Poster, r.Worker
	t.Contract, t.Moves = contract.Signed(t.Contract, states, r.Places())
	if t.Contract.Decided != "" && t.Contract.DecidedEvent == "" {
		words++
	}
	for i := range t.Moves {
		v, known := &t.Moves[i], said[t.Moves[i].Event.ID]
		if v.N == 0 {
			v.N, v.ArrivedAt = known.N, known.ArrivedAt
		}
		v.ArrivedAt = cmp.Or(v.ArrivedAt, known.ArrivedAt)
		if v.Withdrawn, err = withdrawal(known.Withdrawn, v.Event, r); err != nil {
			return 0, err
		}
	}
	if o := r.Order(); o == nil || t.Order == nil {
		t.Order = o
	} else {
		t.Order.Event, t.Order.Keys = o.Event, o.Keys
	}
	return words, Markdown(w, t, m.Options)
}

// signed returns an entry as its event says it, with what is not signed of it.
func signed(e contract.Entry, r evidence.Report) (contract.Entry, error) {
	ev := r.Event(e.Event.ID)
	s, ok := contract.EntryOf(ev)
	if !ok {
		return s, fmt.Errorf("event %s is no entry", ev.ID)
	}
	s.Author.AgentID, s.Signature = e.Author.AgentID, e.Signature
	if s.Signature != contract.SignatureDiffers && !(s.Sealed && e.ByRelay) {
		s.Signature = contract.SignatureHolds
	}
	s.N, s.ArrivedAt = e.N, e.ArrivedAt
	if item, ok := r.Places()[ev.ID]; ok {
		s.N, s.ArrivedAt = item.N, item.ReceivedAt
	}
	if s.Sealed { // the payload is signed, and not what it says
		s.EntryID, s.Content, s.Attachments, s.Unreadable, s.ByRelay = e.EntryID, e.Content, e.Attachments, e.Unreadable, e.ByRelay
		s.Committed = e.Committed && ev.Tags.Find(nipae.CommitTag) != nil
	}
	var err error
	s.Withdrawn, err = withdrawal(e.Withdrawn, ev, r)
	return s, err
}

// withdrawal returns one with its signed request, if it has one.
func withdrawal(w *contract.Withdrawal, of *nostr.Event, r evidence.Report) (*contract.Withdrawal, error) {
	if w == nil || w.Event == nil {
		return w, nil
	}
	ev := r.Event(w.Event.ID)
	if ev == nil || ev.Kind != nostr.KindDeletion || ev.PubKey != of.PubKey {
		return nil, fmt.Errorf("%.70q is no request to withdraw %s", w.Event.ID, of.ID)
	}
	w.Event = ev
	return w, nil
}

// Check makes the transcript of an export again and compares it.
func Check(f evidence.Files, r evidence.Report) evidence.Check {
	k := evidence.Check{Name: "transcript", Outcome: evidence.NotChecked}
	switch {
	case f.Transcript == nil:
		k.Detail = "there is no " + evidence.TranscriptFile
		return k
	case f.Unsigned == nil:
		k.Detail = "without " + evidence.UnsignedFile + " it cannot be made again; what is signed is in " + evidence.EventsFile
		return k
	}
	var again bytes.Buffer
	words, err := Remake(&again, f, r)
	if err == nil && !bytes.Equal(again.Bytes(), f.Transcript) {
		err = fmt.Errorf("%s is not what the events say", evidence.TranscriptFile)
	}
	k.Outcome, k.Detail = evidence.OK, fmt.Sprintf("made again from the events, it is the same; %d parts are the exporter's word or a relay's, and are marked so", words)
	if err != nil {
		k.Outcome, k.Detail, k.Problems = evidence.Failed, "it was changed, or made of other events", []string{err.Error()}
	}
	return k
}
