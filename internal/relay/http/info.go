package relayhttp

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
)

const infoType = "application/nostr+json"

// documents shows what the relay is, to programs and to people.
type documents struct {
	relay    Relay
	urls     []string
	web      bool // the owner's page is served
	template *template.Template
}

// info serves the relay information document (NIP-11).
func (d *documents) info(hdr http.Header, r *http.Request) ([]byte, error) {
	doc, err := infoDocument(d.relay, r)
	if err != nil {
		return nil, fmt.Errorf("information document: %w", err)
	}
	_, body := encoded(http.StatusOK, doc)
	allowCORS(hdr)
	hdr.Set("Vary", "Accept")
	hdr.Set("Cache-Control", "no-cache")
	hdr.Set("Content-Type", infoType)
	hdr.Set("X-Content-Type-Options", "nosniff")
	return body, nil
}

// infoDocument drops members that the relay does not set. go-nostr's type
// writes empty texts, and created_at_lower_limit 0, which would claim that the
// relay accepts no event of the past.
func infoDocument(relay Relay, r *http.Request) (map[string]any, error) {
	text, err := json.Marshal(relay.Info(r))
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	doc["self"] = relay.Self() // go-nostr's type has no place for it
	if versions, days := relay.Keeps(); versions > 0 {
		doc["history"] = map[string]int{"versions": versions, "days": days}
	}
	for name, v := range doc {
		if v == "" {
			delete(doc, name)
		}
	}
	if limits, ok := doc["limitation"].(map[string]any); ok && limits["created_at_lower_limit"] == 0.0 {
		delete(limits, "created_at_lower_limit")
	}
	return doc, nil
}
