package policy

import (
	"context"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/fairness"
)

// Budgets that an event is charged to.
const (
	shareEvents uint8 = iota
	shareRows
	shareBytes
	keyRows
	keyEvents
)

func (r Rates) any() bool {
	return r.Key.PerSecond > 0 || r.Share.PerSecond > 0 || r.Rows.PerSecond > 0 || r.Bytes.PerSecond > 0
}

// rejectRate charges an event to who sends it and to its author, if both can
// pay. It comes after the lists: what another rule refuses costs nothing.
func (p *Policy) rejectRate(r Rates) Hook {
	messages := [...]string{
		shareEvents: rateText("one address", r.Share, "events"),
		shareRows:   rateText("one address", r.Rows, "indexed tags"),
		shareBytes:  "rate-limited: one address may store " + strconv.Itoa(r.Bytes.Burst) + " bytes an hour here; slow down",
		keyRows:     rateText("one key", r.Rows, "indexed tags"),
		keyEvents:   rateText("one key", r.Key, "events"),
	}
	return func(ctx context.Context, ev *nostr.Event) (bool, string) {
		if p.isOwn(ev) {
			return false, ""
		}
		charges := r.charges(fairness.From(ctx), ev, p.payer(ctx, ev))
		refused := p.memory.rates.Take(p.Clock(), charges[:]...)
		if refused < 0 {
			return false, ""
		}
		return true, messages[charges[refused].What]
	}
}

// payer returns the key whose budget pays for an event. An event that is not
// stored cannot be told from one that somebody sends once more: only a sender
// who has proved the author's key uses up what the author may write; anybody
// else uses up what their share may deliver of that author.
func (p *Policy) payer(ctx context.Context, ev *nostr.Event) string {
	who := fairness.From(ctx)
	if p.Rates.Key.PerSecond <= 0 || !nostr.IsEphemeralKind(ev.Kind) || who == (fairness.Who{}) || p.Reader(ctx).Has(ev.PubKey) {
		return ev.PubKey
	}
	return ev.PubKey + " by " + who.Share
}

// charges returns what an event costs; the author's come last.
func (r Rates) charges(who fairness.Who, ev *nostr.Event, payer string) [5]fairness.Charge {
	if who.Exempt || who == (fairness.Who{}) {
		r = Rates{Key: r.Key}
	}
	rows, size := indexRows(ev), 0
	if r.Bytes.PerSecond > 0 && !nostr.IsEphemeralKind(ev.Kind) {
		size = wire.Size(ev)
	}
	return [5]fairness.Charge{
		{What: shareEvents, Name: who.Share, N: 1, Rate: r.Share},
		{What: shareRows, Name: who.Share, N: rows, Rate: r.Rows},
		{What: shareBytes, Name: who.Share, N: size, Rate: r.Bytes},
		{What: keyRows, Name: ev.PubKey, N: rows, Rate: r.Rows},
		{What: keyEvents, Name: payer, N: 1, Rate: r.Key},
	}
}

// SetPart divides all rates by the number of nodes that take events, also for
// the policies that take p's place (fairness.Rates.SetPart).
func (p *Policy) SetPart(nodes int) { p.memory.rates.SetPart(nodes) }

// NotStored gives an author back what was charged for an event that the relay
// did not store: anybody may send an author's events once more, and must not
// use up what the author may write. The sender has paid.
func (p *Policy) NotStored(who fairness.Who, ev *nostr.Event) {
	if p.isOwn(ev) {
		return // it was charged nothing
	}
	charges := p.Rates.charges(who, ev, ev.PubKey)
	for _, c := range charges[3:] {
		if c.Rate.PerSecond > 0 {
			p.memory.rates.Give(c)
		}
	}
}

func rateText(who string, r fairness.Rate, what string) string {
	return "rate-limited: " + who + " may write " + strconv.FormatFloat(r.PerSecond, 'g', -1, 64) + " " + what + " per second, " +
		strconv.Itoa(r.Burst) + " at once, here; slow down"
}

// targetRows is what a target of a deletion request counts for beside its row
// in the tag index: it is looked for, and barred.
const targetRows = 3

// indexRows returns how many rows of the tag index an event makes at most, or
// makes as much work as: one for each single-letter tag with a value, and none
// if it is not stored.
func indexRows(ev *nostr.Event) (n int) {
	if nostr.IsEphemeralKind(ev.Kind) {
		return 0
	}
	for _, t := range ev.Tags {
		if ev.Kind == nostr.KindDeletion && len(t) >= 2 && (t[0] == "e" || t[0] == "a") {
			n += targetRows
		}
		if len(t) >= 2 && len(t[0]) == 1 && (t[0][0]|0x20 >= 'a' && t[0][0]|0x20 <= 'z') {
			n++
		}
	}
	return n
}
