package contract

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"engramd/internal/client"
)

// AgentIdentities is a page of the identities of a relay, by their names.
type AgentIdentities struct {
	Page  []AgentIdentity
	Total int // of all pages
}

// Identities lists the identities of the first relay with a contract API, for
// its operator: ErrAuth for others.
func (cs *Contracts) Identities(ctx context.Context, limit, offset int) (out AgentIdentities, status client.Status, err error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	home, status, err := cs.home(ctx)
	switch {
	case err != nil:
		return out, status, err
	case home == nil:
		return out, status, client.ErrNoAPI
	}
	var page struct {
		Identities *[]wireIdentity `json:"identities"`
		Total      int             `json:"total"`
	}
	query := url.Values{"limit": {strconv.Itoa(limit)}, "offset": {strconv.Itoa(offset)}}
	if err = cs.c.HTTP().API(ctx, *home, http.MethodGet, "/api/identities", query, nil, &page); err == nil && page.Identities == nil {
		err = fmt.Errorf("%w: it answered with no list of identities", client.ErrMisbehaved)
	}
	if err == nil {
		for _, w := range *page.Identities {
			id, wrong := w.identity(w.AgentID)
			if wrong != nil {
				err = wrong
				break
			}
			out.Page = append(out.Page, id)
		}
	}
	if err != nil {
		return AgentIdentities{}, status, fmt.Errorf("%s: %w", client.Printable(home.URL), err)
	}
	out.Total = page.Total
	return out, status, nil
}

// DeleteIdentity has a relay forget an identity, for its operator; the name is
// free again. A key that the relay keeps is lost with it, which withKey must
// say is meant: ErrConflict otherwise.
func (cs *Contracts) DeleteIdentity(ctx context.Context, agentID string, withKey bool) (id AgentIdentity, status client.Status, err error) {
	call := client.Call{Method: http.MethodDelete, Path: identityPath(agentID)}
	if withKey {
		call.Query = url.Values{"with_key": {"true"}}
	}
	_, id, status, err = cs.identityCall(ctx, agentID, call)
	return id, status, err
}

// Me returns the identity of the key, or the token, that asks: ErrNotFound for
// a key without a name.
func (cs *Contracts) Me(ctx context.Context) (id AgentIdentity, status client.Status, err error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	home, status, err := cs.home(ctx)
	switch {
	case err != nil:
		return id, status, err
	case home == nil:
		return id, status, client.ErrNoAPI
	}
	var w wireIdentity
	if err = cs.c.HTTP().API(ctx, *home, http.MethodGet, "/api/identity", nil, nil, &w); err == nil {
		id, err = w.identity(w.AgentID)
	}
	if err != nil {
		return id, status, fmt.Errorf("%s: %w", client.Printable(home.URL), err)
	}
	return id, status, nil
}
