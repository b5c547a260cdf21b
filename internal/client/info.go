package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"engramd/nips/nipae"
)

// managementType is the Content-Type of calls of NIP-86.
const managementType = "application/nostr+json+rpc"

// ErrNoManagement means that a relay does not answer calls of NIP-86.
var ErrNoManagement = errors.New("the relay has no management API (NIP-86)")

// Manage makes one call of the management API (NIP-86) of the client's relay,
// of which it must have exactly one: what is done to one is not done to
// another. It is signed, its parameters with it (NIP-98), and returns the JSON
// of the result.
//
// A refusal is an *APIError: ErrInvalid, ErrAuth when the key does not manage
// the relay or may not have this changed, else ErrRefused. ErrNoManagement is
// for a relay without the API.
func (c *Client) Manage(ctx context.Context, method string, params ...any) (result json.RawMessage, err error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	targets := c.Targets()
	if len(targets) != 1 {
		return nil, fmt.Errorf("%w: management is of one relay, and %d are named", ErrInvalid, len(targets))
	}
	if params == nil {
		params = []any{}
	}
	call := Call{Method: http.MethodPost, Kind: managementType, Body: struct {
		Method string `json:"method"`
		Params []any  `json:"params"`
	}{method, params}}
	answer, err := c.HTTP().Call(ctx, targets[0], call)
	if err == nil {
		result, err = managed(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Printable(targets[0].URL), err)
	}
	return result, nil
}

// managed reads {"result": …} or {"error": "…"}, by whatever Content-Type it
// comes.
func managed(answer Reply) (json.RawMessage, error) {
	none := fmt.Errorf("%w (HTTP status %d)", ErrNoManagement, answer.Status)
	var body struct {
		Result json.RawMessage `json:"result"`
		Error  *string         `json:"error"`
	}
	if json.Unmarshal(answer.Text, &body) != nil {
		return nil, none
	}
	refused := body.Error != nil && *body.Error != ""
	switch answer.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusNotImplemented, http.StatusUpgradeRequired:
		return nil, none
	}
	switch {
	case refused:
		return nil, &APIError{Status: managedStatus(answer.Status, *body.Error), Message: Printable(*body.Error)}
	case answer.Status != http.StatusOK || body.Result == nil:
		return nil, none
	}
	return body.Result, nil
}

// managedStatus returns the status of a refusal, also of a relay that has 200
// for all.
func managedStatus(status int, text string) int {
	if status >= 400 {
		return status
	}
	prefix, _, _ := strings.Cut(text, ":")
	switch prefix {
	case "invalid":
		return http.StatusBadRequest
	case "auth-required":
		return http.StatusUnauthorized
	case "restricted", "blocked":
		return http.StatusForbidden
	}
	return http.StatusInternalServerError
}

// RelayInfo is what a relay says of itself (NIP-11). Texts are printable and cut.
type RelayInfo struct {
	Name, Software, Version string
	NIPs                    []int
	Date                    time.Time // by its clock, in whole seconds; zero if it does not say
	History                 *History  // nil: it promises none
}

// History is what a relay promises to keep of superseded engrams: the field
// "history" of its information document, which is engramd's own.
type History struct {
	Versions int64 // for each address
	Days     int64 // 0: for ever
}

// Info asks a relay, by its URL, for its information document (NIP-11). The error
// is ErrMisbehaved where an answer is no such document.
func (c *Client) Info(ctx context.Context, url string) (RelayInfo, error) {
	ctx, done := c.Operation(ctx)
	defer done()
	t := TargetsOf([]string{url})[0]
	for _, known := range c.Targets() {
		t.Listed = t.Listed || known.Listed && known.Canonical == t.Canonical
	}
	return InfoOf(ctx, c, t)
}

// InfoOf is Info within an operation.
func InfoOf(ctx context.Context, c *Client, t Target) (RelayInfo, error) {
	answer, err := c.HTTP().Call(ctx, t, Call{Method: http.MethodGet, Kind: "application/nostr+json"})
	if err != nil {
		return RelayInfo{}, err
	}
	info := RelayInfo{Date: answer.Date}
	var doc map[string]any
	if answer.Status != http.StatusOK || json.Unmarshal(answer.Text, &doc) != nil || doc == nil {
		return info, fmt.Errorf("%w: no information document (NIP-11), but HTTP %d", ErrMisbehaved, answer.Status)
	}
	text := func(name string) string {
		s, _ := doc[name].(string)
		return Printable(s)
	}
	info.Name, info.Software, info.Version = text("name"), text("software"), text("version")
	info.NIPs = ListedNIPs(answer.Text)
	info.History = promised(answer.Text)
	return info, nil
}

// promised returns what a document promises of history. A rule of retention for
// engrams takes the promise back.
func promised(document []byte) *History {
	var doc struct {
		History *struct {
			Versions int64 `json:"versions"`
			Days     int64 `json:"days"`
		} `json:"history"`
		Retention []struct {
			Kinds []json.RawMessage `json:"kinds"`
		} `json:"retention"`
	}
	if json.Unmarshal(document, &doc) != nil || doc.History == nil || doc.History.Versions <= 0 || doc.History.Days < 0 {
		return nil
	}
	for _, rule := range doc.Retention {
		if len(rule.Kinds) == 0 {
			return nil
		}
		for _, kinds := range rule.Kinds {
			var from, to int
			if span := []int(nil); json.Unmarshal(kinds, &span) == nil && len(span) == 2 {
				from, to = span[0], span[1]
			} else if json.Unmarshal(kinds, &from) == nil {
				to = from
			} else {
				return nil
			}
			if from <= nipae.Kind && nipae.Kind <= to {
				return nil
			}
		}
	}
	return &History{Versions: doc.History.Versions, Days: doc.History.Days}
}

// ListedNIPs reads supported_nips, and drops what is no number.
func ListedNIPs(doc []byte) []int {
	var info struct {
		NIPs []any `json:"supported_nips"`
	}
	nips := []int{}
	if json.Unmarshal(doc, &info) != nil {
		return nips
	}
	for _, v := range info.NIPs {
		if n, ok := v.(float64); ok && n == float64(int(n)) {
			nips = append(nips, int(n))
		}
	}
	return nips
}
