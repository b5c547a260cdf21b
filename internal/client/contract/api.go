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
	// in answer to one question, and in how many pages: it makes them as short as
	// it likes.
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

func pageQuery(offset int) url.Values {
	return url.Values{"limit": {strconv.Itoa(apiPage)}, "offset": {strconv.Itoa(offset)}}
}

// eachPage asks for page after page, until one is empty, or the last by what the
// API says, and reports whether that was all. page returns how many things one
// has, and how many there are.
func eachPage(page func(offset int) (n, total int, err error)) (complete bool, err error) {
	offset := 0
	for range maxContractPages {
		n, total, err := page(offset)
		if err != nil {
			return false, err
		}
		if offset += n; n == 0 || offset >= total {
			return true, nil
		}
		if offset > maxContractThings {
			break
		}
	}
	return false, nil
}

// byPoster adds to a query whose contract is meant; "" is any.
func byPoster(query url.Values, poster string) url.Values {
	if poster == "" {
		return query
	}
	if query == nil {
		query = url.Values{}
	}
	query.Set("poster", poster)
	return query
}

// probe returns nil if a relay has the contract API, whatever it thinks of this
// key.
func probe(ctx context.Context, c *client.Client, t client.Target) error {
	var page struct {
		Contracts *[]json.RawMessage `json:"contracts"`
	}
	err := c.HTTP().API(ctx, t, http.MethodGet, contractsPath, url.Values{"limit": {"1"}}, nil, &page)
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
// content. The error is ErrNotDisclosed, and says what is wrong.
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
// its message keys. The error is ErrNotDisclosed.
func Disclosed(ev *nostr.Event, keys disclose.Keys) (Entry, error) {
	if err := niptemp.CheckEntry(ev); err != nil {
		return Entry{}, fmt.Errorf("%w: event: %w", ErrNotDisclosed, err)
	}
	if !niptemp.IsSealed(ev) {
		return Entry{}, fmt.Errorf("%w: the event is no sealed entry", ErrNotDisclosed)
	}
	text, err := disclose.Open(ev.Content, keys)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrNotDisclosed, err)
	}
	return entryWith(ev, text), nil
}
