package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	experimental "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/wire"
	"engramd/nips/disclose"
	"engramd/nips/niptemp"
)

const (
	contractsPath = "/api/escrow/contracts"
	// apiPage is how many things are asked for at a time.
	apiPage = 500
	// maxContractThings and maxContractPages bound what one relay's API may list
	// in answer to one question about one, and in how many pages: it makes them as
	// short as it likes.
	maxContractThings = 20_000
	maxContractPages  = 200
)

// at returns the path of something of a contract.
func contractPath(id string, more ...string) string {
	path := contractsPath + "/" + url.PathEscape(id)
	for _, m := range more {
		path += "/" + m
	}
	return path
}

// listAll asks for all that an API lists under a name, page after page, until one
// is empty, or the last by what the API says, or most have come, and reports whether
// that was all.
// none is the error of an answer without that list.
func listAll[T any](ctx context.Context, c *client.Client, t client.Target, path string, query url.Values, name string, most int, none error) (all []T, complete bool, err error) {
	for range maxContractPages {
		query.Set("limit", strconv.Itoa(min(apiPage, most-len(all))))
		query.Set("offset", strconv.Itoa(len(all)))
		var page map[string]json.RawMessage
		if err := c.HTTP().API(ctx, t, client.Call{Path: path, Query: query}, &page); err != nil {
			return all, false, err
		}
		var list []T
		total := 0
		if err := errors.Join(unmarshal(page[name], &list), unmarshal(page["total"], &total)); err != nil {
			return all, false, err
		}
		if list == nil && none != nil {
			return all, false, none
		}
		if all = append(all, list...); len(list) == 0 || len(all) >= total {
			return all, true, nil
		}
		if len(all) >= most {
			return all[:most], false, nil
		}
	}
	return all, false, nil
}

// unmarshal reads a member of an answer that may lack it.
func unmarshal(member json.RawMessage, into any) error {
	if member != nil && json.Unmarshal(member, into) != nil {
		return fmt.Errorf("%w: an answer over HTTP is not of the contract API", client.ErrMisbehaved)
	}
	return nil
}

// byPoster is a query that says whose contract is meant; "" is any.
func byPoster(poster string) url.Values {
	query := url.Values{}
	if poster != "" {
		query.Set("poster", poster)
	}
	return query
}

// probe returns nil if a relay has the contract API, whatever it thinks of this
// key.
func probe(ctx context.Context, c *client.Client, t client.Target) error {
	var page struct {
		Contracts *[]json.RawMessage `json:"contracts"`
	}
	err := c.HTTP().API(ctx, t, client.Call{Path: contractsPath, Query: url.Values{"limit": {"1"}}}, &page)
	var said *client.APIError
	switch {
	case err == nil && page.Contracts == nil:
		return client.ErrNoAPI
	case errors.As(err, &said) && said.Status == http.StatusNotFound:
		return client.ErrNoAPI
	case errors.As(err, &said) && (said.Status == http.StatusUnauthorized || said.Status == http.StatusForbidden):
		return nil
	}
	return err
}

// ErrNotDisclosed means that what was handed over does not prove what a sealed
// entry says.
var ErrNotDisclosed = errors.New("that does not prove what the entry says")

// Disclosure is one sealed entry as a party opens it to somebody else: its
// signed event with the message keys of its payload, which open no other entry.
type Disclosure struct {
	Event *nostr.Event  // verified
	Keys  disclose.Keys // of its content
	Entry Entry         // what it says: its author's word, in its author's signature
}

// disclosed is a Disclosure as it is handed over.
type disclosed struct {
	Event jsontext.Value `json:"event"`
	Keys  string         `json:"keys"`
}

// MarshalJSON returns the disclosure as it is handed over:
// {"event":…,"keys":"…"}.
func (d Disclosure) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"event": raw(d.Event), "keys": d.Keys.Hex()})
}

// ReadDisclosure reads what MarshalJSON made, and checks all of it: the
// signature of the event, that it is a sealed entry, and that the keys open its
// content. Entry.Committed says whether it opens as this text alone. The error
// is ErrNotDisclosed, and says what is wrong.
func ReadDisclosure(data []byte) (Disclosure, error) {
	var said disclosed
	if experimental.Unmarshal(data, &said, experimental.RejectUnknownMembers(true)) != nil {
		return Disclosure{}, fmt.Errorf(`%w: want one JSON object {"event":{…},"keys":"…"}`, ErrNotDisclosed)
	}
	ev, err := wire.ParseEvent(said.Event)
	if err != nil {
		return Disclosure{}, fmt.Errorf("%w: event: %w", ErrNotDisclosed, err)
	}
	if err := wire.Verify(ev); err != nil {
		return Disclosure{}, fmt.Errorf("%w: event: %w", ErrNotDisclosed, err)
	}
	keys, err := disclose.ParseKeys(said.Keys)
	if err != nil {
		return Disclosure{}, fmt.Errorf("%w: keys: %w", ErrNotDisclosed, err)
	}
	entry, err := Disclosed(ev, keys)
	return Disclosure{ev, keys, entry}, err
}

// Disclosed returns what a sealed entry, whose signature was checked, says by
// its message keys. The error is ErrNotDisclosed. A text that is no entry's JSON
// is refused: without a commitment its author can have made a second one, and
// with one it has to name its contract and its entry.
func Disclosed(ev *nostr.Event, keys disclose.Keys) (Entry, error) {
	if err := niptemp.CheckEntry(ev); err != nil {
		return Entry{}, fmt.Errorf("%w: event: %w", ErrNotDisclosed, err)
	}
	if !niptemp.IsSealed(ev) {
		return Entry{}, fmt.Errorf("%w: the event is no sealed entry", ErrNotDisclosed)
	}
	text, committed, err := disclose.OpenEvent(ev, keys)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrNotDisclosed, err)
	}
	if err := niptemp.CheckOpened(ev, text, committed); err != nil && !committed {
		return Entry{}, fmt.Errorf("%w: opened, not committed, and no entry by its form: its author may be able to open it as another text: %w", ErrNotDisclosed, err)
	} else if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrNotDisclosed, err)
	}
	e := entryWith(ev, text)
	e.Committed = committed
	return e, nil
}
