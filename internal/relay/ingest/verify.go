package ingest

import (
	"context"
	"encoding/json"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip40"

	schnorrbatch "engramd/internal/protocol/schnorr/batch"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/policy"
)

// parseAll is a worker. It checks the shape, id and signature of events, and
// applies the rules.
func (im *Importer) parseAll(ctx context.Context, work <-chan *batch) {
	for b := range work {
		if ctx.Err() == nil {
			im.parse(ctx, b)
		}
		close(b.done)
	}
}

// parse decides about the lines of a batch as far as possible without the
// store.
func (im *Importer) parse(ctx context.Context, b *batch) {
	var of []*item
	var events []*nostr.Event
	for i := range b.items {
		it := &b.items[i]
		if it.text == nil {
			continue
		}
		ev, err := wire.ParseEvent(it.text)
		if err != nil {
			it.refuse(err)
			continue
		}
		of, events = append(of, it), append(events, ev)
	}
	for i, err := range im.signatures.VerifyAll(events, schnorrbatch.Hold) {
		if err != nil {
			of[i].refuse(err)
			continue
		}
		of[i].text = nil
		im.admit(ctx, of[i], events[i])
	}
}

// refuse records why a line is not a valid event.
func (it *item) refuse(err error) {
	it.refusal, it.author = "invalid: "+err.Error(), claimedAuthor(it.text)
	it.text = nil
}

// admit applies the rules to a verified event.
func (im *Importer) admit(ctx context.Context, it *item, ev *nostr.Event) {
	it.author = ev.PubKey
	if nostr.IsEphemeralKind(ev.Kind) {
		it.refusal = "invalid: ephemeral events are not stored"
		return
	}
	if reject, reason := im.rules(ctx, ev); reject {
		ends := nip40.GetExpiration(ev.Tags)
		it.refusal, it.over = reason, ends > 0 && ends <= nostr.Now()
		return
	}
	it.event = ev
}

// claimedAuthor returns the author that an unverified line names; "" if it
// names none.
func claimedAuthor(text []byte) string {
	var says struct {
		PubKey string `json:"pubkey"`
	}
	if json.Unmarshal(text, &says) != nil || !nostr.IsValid32ByteHex(says.PubKey) {
		return ""
	}
	return says.PubKey
}

// NewRules returns the rules that hold for everybody: they refuse malformed
// events, foreign requests to vanish, expired events and those from the future,
// whoever brings them. Lists, bans and rates do not apply to the operator.
func NewRules(names relay.Names, o policy.Options) (policy.Hook, error) {
	p, err := policy.New(policy.Options{OwnName: names.Has, Future: o.Future, Reader: relay.ReaderFrom, Import: true})
	if err != nil {
		return nil, err
	}
	// The operator delivers each event as its author would.
	return func(ctx context.Context, ev *nostr.Event) (bool, string) {
		return p.RejectEvent(relay.WithReader(ctx, gate.NewReader(ev.PubKey)), ev)
	}, nil
}
