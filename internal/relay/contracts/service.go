package contracts

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/relay/fairness"
)

// Service implements the contract memory API and its rules. Apart from locks it
// has no state of its own: everything is in the store. Its methods may be
// called from many goroutines.
type Service struct {
	*directory
	*publisher
	*mover
	*register
	*threads

	store  Store
	limits Limits
}

// turns is how many requests parse entries at the same time.
const turns = 2

// New returns a Service.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Relay == nil || o.Table == nil || o.Signer == nil || o.Sealer == nil || o.Identities == nil {
		return nil, errors.New("contracts: Store, Relay, Table, Signer, Sealer and Identities are required")
	}
	if o.Writers == nil {
		o.Writers = everybody{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Confirmed == nil {
		o.Confirmed = func() bool { return true }
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Limits.Content = cmp.Or(o.Limits.Content, 64<<10)
	o.Limits.Attachments = cmp.Or(o.Limits.Attachments, 32)
	o.Limits.Private = cmp.Or(o.Limits.Private, 10_000)
	parse := fairness.NewTurns(turns, 0)
	a := &directory{identities: o.Identities, sealer: o.Sealer, writers: o.Writers, binds: fairness.NewRates(bindBudgets), clock: o.Clock}
	pub := &publisher{store: o.Store, signer: o.Signer, relay: o.Relay, outbox: o.Outbox, clock: o.Clock, rand: o.Rand, log: o.Log}
	m := &mover{
		store: o.Store, agents: a, pub: pub, relayKeys: o.RelayKeys, turns: parse, clock: o.Clock, confirmed: o.Confirmed, log: o.Log, wake: make(chan struct{}, 1),
	}
	rg := &register{store: o.Store, agents: a, mover: m, table: o.Table, guesses: o.Guesses}
	s := &Service{
		directory: a, publisher: pub, mover: m, register: rg,
		threads: &threads{
			register: rg, store: o.Store, agents: a, pub: pub, sealer: o.Sealer, relayKeys: o.RelayKeys, turns: parse,
		},
		store: o.Store, limits: o.Limits,
	}
	s.SetEventLimit(cmp.Or(o.Limits.Event, 256<<10))
	return s, nil
}

// claimed checks that an agent id in a request is the caller's own.
func (c Caller) claimed(field, agentID string) error {
	switch {
	case agentID == "" || agentID == c.Agent() || agentID == c.PubKey:
		return nil
	case c.Nobody():
		return errNobody()
	}
	return Refuse(Forbidden, "%s is not the caller's own agent id", field)
}

func errNobody() *Error {
	return Refuse(Unauthenticated, "prove who is calling: a NIP-98 signature or a bearer token")
}

// IsAgentName reports whether s may be an agent's name: 1 to 64 of A–Z a–z 0–9
// . _ -, but not 64 hex digits, which are a key.
func IsAgentName(s string) bool {
	if len(s) == 0 || len(s) > 64 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != "" {
		return false
	}
	_, err := hex.DecodeString(s)
	return len(s) != 64 || err != nil
}

// npub returns a key in the form of NIP-19; the text itself if it is not a key.
func npub(pubkey string) string {
	text, err := nip19.EncodePublicKey(pubkey)
	if err != nil {
		return pubkey
	}
	return text
}

func unix(at int64) time.Time { return time.Unix(at, 0).UTC() }

// unixOrNil is unix, nil for 0.
func unixOrNil(at int64) *time.Time {
	if at == 0 {
		return nil
	}
	return new(unix(at))
}
