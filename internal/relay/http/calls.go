package relayhttp

import (
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/nips/nip01"
)

// bridge answers signed requests for what a websocket does: it publishes events,
// and reads them.
type bridge struct {
	in      *intake
	backend Backend
	pressed func() bool
}

// eventAnswer is the answer of POST /events for an event that the relay has.
type eventAnswer struct {
	EventID  string `json:"event_id"`
	Accepted bool   `json:"accepted"` // always true: a refusal has a status of its own
	Message  string `json:"message"`  // "", or "duplicate: …"
	// Base repeats the request's base: the write was a compare-and-set. A relay
	// without compare-and-set ignores the parameter and does not repeat it.
	Base *string `json:"base,omitempty"`
}

// events takes one event. The signer of the request need not be its author,
// unless the event is protected (NIP-70). An event that the relay has, or has a
// newer version of, is accepted with a message that starts "duplicate:".
//
// With ?base=ID the event is stored only if the named event is the head of its
// address; an empty ID stands for no head. Any other head, also a newer one, is
// answered 409. Only the event's author may set a base: to others, the answer
// would reveal heads.
func (b *bridge) events(c *call) error {
	if len(c.body) > c.limits.EventBytes {
		return tooLarge(c.limits.EventBytes)
	}
	var ev *nostr.Event
	err := b.in.compute(c.Context(), b.in.pools.checking, func() (err error) {
		if ev, err = wire.ParseEvent(c.body); err == nil {
			err = wire.Verify(ev)
		}
		if err != nil {
			return refused(nip01.PrefixInvalid, err.Error())
		}
		return nil
	})
	if err != nil {
		return err
	}
	base, id, err := baseOf(c, ev)
	if err != nil {
		return err
	}
	ctx := relay.WithAttestations(c.Context(), relay.AttestationIn(c.Header.Values(relay.AttestationHeader), ev.PubKey))
	answer := b.backend.Submit(ctx, relay.Submission{Event: ev, Base: id})
	if !answer.OK && !answer.Why.Has(nip01.PrefixDuplicate) {
		return problemOf(answer.Why)
	}
	return b.in.answer(c, http.StatusOK, eventAnswer{ev.ID, true, answer.Message(), base})
}

// baseOf reads the base of a compare-and-set from the query string, as text and
// as id; nil if there is none.
func baseOf(c *call, ev *nostr.Event) (*string, *[32]byte, error) {
	if c.URL.RawQuery == "" {
		return nil, nil, nil
	}
	values, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil || len(values) != 1 || len(values["base"]) != 1 {
		return nil, nil, refused(nip01.PrefixInvalid, "the query string takes base alone, once")
	}
	var id [32]byte
	base := values["base"][0]
	if n, err := hex.Decode(id[:], []byte(base)[:min(len(base), 64)]); base != "" && (err != nil || n != 32 || !lowerHex64(base)) {
		return nil, nil, refused(nip01.PrefixInvalid, "base must be an event id, 64 lower-case hex digits, or empty")
	}
	switch {
	case !nostr.IsReplaceableKind(ev.Kind) && !nostr.IsAddressableKind(ev.Kind):
		return nil, nil, refused(nip01.PrefixInvalid, "base goes with replaceable and addressable kinds")
	case ev.PubKey != c.signed.pubkey:
		return nil, nil, refused(nip01.PrefixRestricted, "only its author may publish an event with a base")
	}
	return &base, &id, nil
}

// query streams the events that an array of filters asks for.
func (b *bridge) query(c *call) error {
	granted, err := b.granted(c, gate.SurfaceQuery)
	if err != nil {
		return err
	}
	return b.stream(c, b.backend.Stored(granted))
}

// count answers how many distinct events an array of filters asks for (NIP-45:
// exact, without regard to limit).
func (b *bridge) count(c *call) error {
	granted, err := b.granted(c, gate.SurfaceHTTPCount)
	if err != nil {
		return err
	}
	n, err := b.backend.Count(c.Context(), granted)
	if err != nil {
		return b.failure(c, err)
	}
	return b.in.answer(c, http.StatusOK, map[string]int64{"count": n})
}

// granted reads the filters and asks the gate.
func (b *bridge) granted(c *call, surface gate.Surface) ([]relay.Granted, error) {
	if b.pressed() {
		b.in.metrics.HTTP.HTTPRefused("memory")
		return nil, refused(nip01.PrefixError, "the relay is short of memory, try again later")
	}
	var filters []nostr.Filter
	err := b.in.compute(c.Context(), b.in.pools.checking, func() (err error) {
		if filters, err = wire.ParseFilters(c.body, wireLimits); err != nil {
			return refused(nip01.PrefixInvalid, err.Error())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	granted, err := b.backend.Authorize(c.Context(), surface, filters)
	if err != nil {
		return nil, failed(err)
	}
	return granted, nil
}

// history streams superseded versions.
func (b *bridge) history(c *call) error {
	if isPast(c.URL.RawQuery) {
		return b.past(c)
	}
	q, err := historyQuery(c.URL.RawQuery)
	if err != nil {
		return refused(nip01.PrefixInvalid, err.Error())
	}
	versions, err := b.backend.History(c.Context(), q)
	if err != nil {
		return failed(err)
	}
	return b.stream(c, versions)
}

// historyQuery reads kind and author, and d, until and limit if they are given.
func historyQuery(raw string) (q relay.HistoryQuery, err error) {
	given, err := readParameters(raw, "the query string has an unknown parameter; it takes kind, author, d, until, before, arrival and limit", map[string]parameter{
		"kind":    number(16, "a number from 0 to 65535", func(n uint64) { q.Kind = int(n) }),
		"author":  hexID("a pubkey", &q.Author),
		"d":       {"", func(value string) bool { q.D = &value; return true }},
		"until":   number(63, "a time in seconds", func(n uint64) { q.Until = new(nostr.Timestamp(n)) }),
		"before":  hexID("an event id", &q.Before),
		"arrival": choice(&q.Arrivals),
		"limit":   limit(&q.Limit),
	})
	if err != nil {
		return q, err
	}
	for _, name := range []string{"kind", "author"} {
		if !given.Has(name) {
			return q, errors.New("the query string needs " + name)
		}
	}
	return q, nil
}

// parameter is one of a query string: what it must be, and what takes its value
// and reports whether it is that.
type parameter struct {
	want string
	set  func(value string) bool
}

// readParameters reads a query string. An unknown or repeated parameter is an
// error: a misspelt until must not answer another question.
func readParameters(raw, unknown string, known map[string]parameter) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errors.New("the query string does not parse")
	}
	for name, given := range values {
		p, ok := known[name]
		switch {
		case len(given) != 1:
			return nil, errors.New("parameter " + name + " is given twice")
		case !ok:
			return nil, errors.New(unknown)
		case !p.set(given[0]):
			return nil, errors.New("parameter " + name + " must be " + p.want)
		}
	}
	return values, nil
}

func number(bits int, want string, set func(uint64)) parameter {
	return parameter{want, func(value string) bool {
		n, ok := plainNumber(value, bits)
		set(n)
		return ok
	}}
}

func limit(to *int) parameter {
	return parameter{"a number from 1 on", func(value string) bool {
		n, ok := plainNumber(value, 31)
		*to = int(n)
		return ok && n > 0
	}}
}

func hexID(what string, to *string) parameter {
	return parameter{what + ", 64 lower-case hex digits", func(value string) bool {
		*to = value
		return lowerHex64(value)
	}}
}

func choice(to *bool) parameter {
	return parameter{"true or false", func(value string) bool {
		*to = value == "true"
		return *to || value == "false"
	}}
}

// plainNumber reads decimal digits without sign or leading zeros.
func plainNumber(text string, bits int) (uint64, bool) {
	n, err := strconv.ParseUint(text, 10, bits)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

func lowerHex64(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// failure returns the answer to a read that failed; the store's own words go to
// the log.
func (b *bridge) failure(c *call, err error) *Problem {
	p := failed(err)
	if p.Status == http.StatusServiceUnavailable && c.Context().Err() == nil {
		b.in.log.Error("a read over HTTP failed", "err", err)
	}
	return p
}
