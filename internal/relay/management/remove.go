package management

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// Remover is what Remove needs of the store.
type Remover interface {
	Administer(ctx context.Context, change *store.AdminEntry, call store.AdminCall) error
	RemoveMatching(ctx context.Context, scope gate.Scope, filters []nostr.Filter) (store.Removal, error)
}

// Remove removes the events that filters match, and records in the audit table
// that it began and how it ended. The scope is the operator's: no call of the
// management API has one.
func Remove(ctx context.Context, s Remover, scope gate.Scope, filters *Filters) (store.Removal, error) {
	if err := filters.Named(); err != nil {
		return store.Removal{}, err
	}
	text, err := json.Marshal(filters)
	if err != nil {
		return store.Removal{}, err
	}
	params := string(text)
	// No key has called: the operator has, on the machine itself.
	line := store.AdminCall{Key: store.AdminOperator, Auth: store.AdminOperator, Method: "delete", Params: &params, Digest: sha256.Sum256(text), Outcome: "begun"}
	if err := s.Administer(ctx, nil, line); err != nil {
		return store.Removal{}, err
	}
	done, err := s.RemoveMatching(ctx, scope, filters.list)
	line.Outcome, line.Detail = "ok", strconv.FormatInt(Total(done), 10)+" removed"
	if err != nil {
		line.Outcome = "error"
	}
	// The end is recorded even if the command did not wait.
	recorded := s.Administer(context.WithoutCancel(ctx), nil, line)
	return done, errors.Join(err, recorded)
}

// Total is how many events, versions and quarantined events a removal counts.
func Total(r store.Removal) (n int64) {
	for _, counts := range []map[int]int64{r.Events, r.Versions, r.Quarantined} {
		for _, c := range counts {
			n += c
		}
	}
	return n
}
