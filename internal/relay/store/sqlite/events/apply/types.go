package apply

import (
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Command is the event as a command of a store that is one of several.
func (p *Pending) Command() store.Command {
	o := &p.Opts
	switch {
	case o.Replica:
		return store.PutCopy{Event: p.Rec.JSON, Past: o.Past}
	case o.Import:
		return store.PutEvent{Event: p.Rec.JSON, Import: true, Base: o.Base, Forward: o.Forward, KnownOnly: o.KnownOnly}
	}
	p.Asked = true
	return store.SubmitEvent{Event: p.Rec.JSON, Base: o.Base, Forward: o.Forward, KnownOnly: o.KnownOnly, Vouched: o.Vouched}
}

// Pending is an event on its way to disk.
type Pending struct {
	engine.Member
	Rec   *record.Record
	Opts  store.PutOptions
	Asked bool         // SubmitEvent: the lists are asked
	Sent  fairness.Who // by whom, of a store that is one of several: its turn came before
	Place store.LogPlace
}

// who sent it.
func (p *Pending) who() fairness.Who {
	if p.Sent != (fairness.Who{}) {
		return p.Sent
	}
	return p.Who()
}
