package relay

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
)

// passOn delivers an ephemeral event that was taken here to this relay's
// subscriptions, and hands it over to the other nodes, if there are any.
func (r *Relay) passOn(class gate.Class, ev *nostr.Event) {
	json := wire.AppendEvent(nil, ev)
	r.deliver([]Delivery{{Event: ev, JSON: json, Subject: gate.SubjectOf(class, ev)}})
	if r.ephemeral != nil {
		r.ephemeral(ev, json)
	}
}

// DeliverEphemeral delivers an ephemeral event that another node took to this
// relay's subscriptions. Nothing that the other node says of it is believed: id
// and signature are checked, and who may see it is decided here, by the table in
// force. What does not hold is dropped. The node that took it has asked the
// policy, and nothing is handed on a second time.
func (r *Relay) DeliverEphemeral(json []byte) {
	ev, err := wire.ParseEvent(json)
	if err == nil {
		err = wire.Verify(ev)
	}
	if err != nil || !nostr.IsEphemeralKind(ev.Kind) {
		r.log.Debug("another node handed over what is no ephemeral event")
		return
	}
	class := r.table.Load().Classify(ev)
	r.deliver([]Delivery{{Event: ev, JSON: wire.AppendEvent(nil, ev), Subject: gate.SubjectOf(class, ev)}})
}
