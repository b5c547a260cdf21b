package contract

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"engramd/internal/client"
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

// pageQuery asks for a page.
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
