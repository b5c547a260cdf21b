package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// RelayInfo is what a relay says of itself (NIP-11). Texts are printable and cut.
type RelayInfo struct {
	Name, Software, Version string
	NIPs                    []int
	Date                    time.Time // by its clock, in whole seconds; zero if it does not say
}

// Info asks a relay, by its URL, for its information document (NIP-11). The error
// is ErrMisbehaved where an answer is no such document.
func (c *Client) Info(ctx context.Context, url string) (RelayInfo, error) {
	ctx, done := c.operation(ctx)
	defer done()
	t := targetsOf([]string{url})[0]
	answer, err := c.httpCall(ctx, t, httpCall{method: http.MethodGet, kind: "application/nostr+json"})
	if err != nil {
		return RelayInfo{}, err
	}
	info := RelayInfo{Date: answer.date}
	var doc map[string]any
	if answer.status != http.StatusOK || json.Unmarshal(answer.text, &doc) != nil || doc == nil {
		return info, fmt.Errorf("%w: no information document (NIP-11), but HTTP %d", ErrMisbehaved, answer.status)
	}
	text := func(name string) string {
		s, _ := doc[name].(string)
		return printable(s)
	}
	info.Name, info.Software, info.Version = text("name"), text("software"), text("version")
	info.NIPs = listedNIPs(answer.text)
	return info, nil
}
