package identity

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// maxTimes bounds how many authors' contracts a registry remembers; it asks the
// database again about those that it forgot.
const maxTimes = 10_000

// times remembers when something was signed last, by author and contract. A
// relay keeps the newest entry of each as head, and of two with the same time
// the one with the lower id, so that times must rise for the thread to stay in
// order.
type times struct {
	mu   sync.Mutex
	last map[string]nostr.Timestamp
}

// next returns the time for an event: want, or later if events are known that
// are as new, but not after limit; ok is false if there is no such time.
func (t *times) next(key string, want, known, limit nostr.Timestamp) (at nostr.Timestamp, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at = max(want, known+1, t.last[key]+1)
	if at > limit {
		return 0, false
	}
	if len(t.last) >= maxTimes {
		clear(t.last)
	}
	t.last[key] = at
	return at, true
}

func (t *times) knows(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.last[key]
	return ok
}

// Sign completes an event, which has everything but ID and Sig, with the key of
// its PubKey. It raises created_at, if need be, above that of all that this key
// signed for the contract before. The error is Unavailable without a master
// key, Forbidden if the key is not kept, and RateLimited if so much was signed
// that times ran too far ahead of the clock.
func (r *Registry) Sign(ctx context.Context, ev *nostr.Event) error {
	secret, err := r.kept(ctx, ev.PubKey)
	if err != nil {
		return err
	}
	if err := r.stamp(ctx, ev); err != nil {
		return err
	}
	if ev.Tags == nil {
		ev.Tags = nostr.Tags{}
	}
	author := ev.PubKey
	if err := ev.Sign(secret); err != nil || ev.PubKey != author {
		return errors.New("a kept key does not sign")
	}
	return nil
}

// Conversation returns the NIP-44 key between a kept key and another. Errors
// are those of Sign.
func (r *Registry) Conversation(ctx context.Context, pubkey, other string) (key [32]byte, err error) {
	secret, err := r.kept(ctx, pubkey)
	if err != nil {
		return key, err
	}
	if key, err = nip44.GenerateConversationKey(other, secret); err != nil {
		return key, errors.New("a kept key has no conversation with another") // no cause: it could quote a key
	}
	return key, nil
}

// kept returns the secret key of a pubkey in hex. The error is Unavailable
// without a master key, and Forbidden if the key is not kept.
func (r *Registry) kept(ctx context.Context, pubkey string) (string, error) {
	if err := r.ready(); err != nil {
		return "", err
	}
	a, err := r.o.Store.AgentByKey(ctx, pubkey)
	if err != nil {
		return "", err
	}
	if a == nil || a.Sealed == nil {
		return "", contracts.Refuse(contracts.Forbidden, "the relay does not keep the key of this agent, who must send the signed event")
	}
	return r.secret(a)
}

// stamp raises created_at.
func (r *Registry) stamp(ctx context.Context, ev *nostr.Event) error {
	contract := ev.Tags.GetD()
	key := ev.PubKey + contract
	var known nostr.Timestamp
	if !r.times.knows(key) {
		var err error
		if known, err = r.newest(ctx, ev.PubKey, contract); err != nil {
			return err
		}
	}
	limit := nostr.Timestamp(r.o.Clock().Add(r.o.Ahead).Unix())
	at, ok := r.times.next(key, ev.CreatedAt, known, limit)
	if !ok {
		return contracts.Refuse(contracts.RateLimited, "too much was signed for this contract in a short time, or the clock went back: try again later")
	}
	ev.CreatedAt = at
	return nil
}

// newest returns the time of the newest event of an author for a contract, in
// the relay or on its way there.
func (r *Registry) newest(ctx context.Context, pubkey, contract string) (nostr.Timestamp, error) {
	waiting, err := r.o.Store.OutboxNewest(ctx, contract, pubkey)
	if err != nil {
		return 0, err
	}
	page, err := r.o.Store.Query(ctx, store.Ask{Scope: gate.Operator(), MaxRows: 1, Filter: nostr.Filter{
		Kinds: []int{niptemp.KindEntry, niptemp.KindState}, Authors: []string{pubkey}, Tags: nostr.TagMap{"d": {contract}}}})
	if err != nil {
		return 0, err
	}
	for _, row := range page.Rows {
		waiting = max(waiting, row.CreatedAt)
	}
	return nostr.Timestamp(waiting), nil
}

// secret opens the key of an identity, and returns it as 64 hex digits.
func (r *Registry) secret(a *store.Agent) (string, error) {
	raw, err := r.o.Vault.Open(a.Sealed, row(a.ID, a.PubKey))
	if err != nil {
		return "", fmt.Errorf("open a kept key: %w", err)
	}
	defer clear(raw)
	return hex.EncodeToString(raw), nil
}
