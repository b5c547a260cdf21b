package contracts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
)

// Service implements the contract memory API and its rules. Apart from locks it
// has no state of its own: everything is in the store. Its methods may be
// called from many goroutines.
type Service struct {
	store      Store
	relay      Submitter
	table      func() *gate.Table
	signer     Signer
	sealer     Sealer
	identities Identities
	relayKeys  RelayKeys
	writers    Writers
	outbox     Outbox
	guesses    *fairness.Guesses
	clock      func() time.Time
	rand       io.Reader
	limits     Limits
	event      atomic.Int64 // Limits.Event
	log        *slog.Logger

	// locks put the moves of one contract, and the events that the server signs
	// for one author in it, in an order, so that created_at rises.
	locks [256]sync.Mutex
	// turns are lent for parsing entries, which is work of a processor.
	turns *fairness.Turns
	// wake tells Run of a new deadline.
	wake chan struct{}
	// binds holds the budgets for binding names, by key and by share.
	binds *fairness.Rates
}

var _ API = (*Service)(nil)

// turns is how many requests parse entries at the same time.
const turns = 2

// New returns a Service.
func New(o Options) (*Service, error) {
	if o.Store == nil || o.Relay == nil || o.Table == nil || o.Signer == nil || o.Sealer == nil || o.Identities == nil {
		return nil, errors.New("contracts: Store, Relay, Table, Signer, Sealer and Identities are required")
	}
	s := &Service{
		store: o.Store, relay: o.Relay, table: o.Table, signer: o.Signer, sealer: o.Sealer, identities: o.Identities,
		relayKeys: o.RelayKeys, outbox: o.Outbox, guesses: o.Guesses, clock: o.Clock, rand: o.Rand, limits: o.Limits, log: o.Log,
		turns: fairness.NewTurns(turns, 0), wake: make(chan struct{}, 1),
		writers: o.Writers, binds: fairness.NewRates(bindBudgets),
	}
	if s.writers == nil {
		s.writers = everybody{}
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.limits.Content = cmp.Or(s.limits.Content, 64<<10)
	s.limits.Attachments = cmp.Or(s.limits.Attachments, 32)
	s.limits.Private = cmp.Or(s.limits.Private, 10_000)
	s.SetEventLimit(cmp.Or(s.limits.Event, 256<<10))
	return s, nil
}

// SetEventLimit changes Limits.Event.
func (s *Service) SetEventLimit(bytes int) { s.event.Store(int64(bytes)) }

// lock makes callers that give the same names wait for each other.
func (s *Service) lock(names ...string) (unlock func()) {
	h := fnv.New32a()
	for _, name := range names {
		_, _ = io.WriteString(h, name) // a hash never fails
	}
	m := &s.locks[h.Sum32()%uint32(len(s.locks))]
	m.Lock()
	return m.Unlock
}

// names finds the agent ids of keys, each once.
type names struct {
	s    *Service
	ids  map[string]string
	fail error
}

func (s *Service) names() *names { return &names{s: s, ids: map[string]string{}} }

// of returns the agent id of a key: the name bound to it, else the key.
func (n *names) of(ctx context.Context, pubkey string) string {
	if id, ok := n.ids[pubkey]; ok {
		return id
	}
	id := pubkey
	identity, err := n.s.identities.ByPubKey(ctx, pubkey)
	if err != nil && n.fail == nil {
		n.fail = err
	}
	if identity != nil {
		id = identity.AgentID
	}
	n.ids[pubkey] = id
	return id
}

// pubkeyOf returns the pubkey of an agent id, or of a pubkey in hex; "" for an
// id that nobody has.
func (s *Service) pubkeyOf(ctx context.Context, agentID string) (string, error) {
	if isPubKey(agentID) {
		return agentID, nil
	}
	if !IsAgentName(agentID) {
		return "", nil
	}
	identity, err := s.identities.ByAgent(ctx, agentID)
	if err != nil || identity == nil {
		return "", err
	}
	return identity.PubKey, nil
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
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	_, err := hex.DecodeString(s)
	return len(s) != 64 || err != nil
}

// isPubKey reports whether s is 64 lower-case hex digits.
func isPubKey(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return false
		}
	}
	return true
}

// npub returns a key in the form of NIP-19; the text itself if it is not a key.
func npub(pubkey string) string {
	text, err := nip19.EncodePublicKey(pubkey)
	if err != nil {
		return pubkey
	}
	return text
}

// random reads n random bytes.
func (s *Service) random(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(s.rand, b)
	return b, err
}

func unix(at int64) time.Time { return time.Unix(at, 0).UTC() }
