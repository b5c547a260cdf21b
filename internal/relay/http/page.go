package relayhttp

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr/nip11"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// pageData is what page.html shows; html/template escapes all of it.
type pageData struct {
	Name, Description string
	URLs              []string
	HTTP              string // http(s) form of the first URL
	NIPs              []nip
	Limits            []fact
	Contact, Pubkey   string
	ContactLink       bool // Contact is a mailto: or http(s) URL
	Restricted        bool
	Software, Version string
	CSS               template.CSS
	Owners            string // where the owner's page is; "" if it is not served
}

type nip struct{ Number, Name, URL string }

type fact struct{ Name, Value string }

// nipNames holds the titles of the NIPs that this relay supports.
var nipNames = map[string]string{
	"01": "Basic protocol", "04": "Direct messages, for their parties only", "09": "Deletion requests", "11": "Relay information", "40": "Expiration",
	"42": "Authentication", "45": "Counting", "50": "Search", "59": "Gift wraps, for their recipients only", "62": "Request to vanish",
	"67": "EOSE hints", "70": "Protected events", "86": "Management", "98": "HTTP auth",
}

// page serves a plain page for people: what the relay is and how to connect.
func (d *documents) page(hdr http.Header, r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	data := d.pageData(d.relay.Info(r))
	data.Owners = d.webPath(r)
	if err := d.template.Execute(&body, data); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	hdr.Set("Content-Type", "text/html; charset=utf-8")
	hdr.Set("Vary", "Accept")
	hdr.Set("Cache-Control", "no-cache")
	hdr.Set("Content-Security-Policy", pagePolicy())
	hdr.Set("X-Content-Type-Options", "nosniff")
	hdr.Set("X-Frame-Options", "DENY")
	hdr.Set("Referrer-Policy", "no-referrer")
	hdr.Set("Cross-Origin-Opener-Policy", "same-origin")
	return body.Bytes(), nil
}

// pagePolicy allows the page its own style sheet, by its hash, and nothing else.
func pagePolicy() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func (docs *documents) pageData(doc nip11.RelayInformationDocument) pageData {
	d := pageData{
		Name: doc.Name, Description: doc.Description, Contact: doc.Contact, Pubkey: doc.PubKey,
		Software: path.Base(doc.Software), Version: doc.Version, URLs: docs.urls,
		CSS: template.CSS(pageCSS), //nolint:gosec // our own file
	}
	for _, scheme := range []string{"mailto:", "https:", "http:"} {
		if strings.HasPrefix(strings.ToLower(doc.Contact), scheme) {
			d.ContactLink = true
		}
	}
	if len(docs.urls) > 0 {
		d.HTTP = "http" + strings.TrimPrefix(docs.urls[0], "ws")
	}
	for _, n := range doc.SupportedNIPs {
		number := fmt.Sprintf("%02v", n)
		d.NIPs = append(d.NIPs, nip{number, nipNames[number], "https://github.com/nostr-protocol/nips/blob/master/" + number + ".md"})
	}
	if l := doc.Limitation; l != nil {
		d.Restricted = l.RestrictedWrites
		d.Limits = []fact{
			{"Largest message", size(l.MaxMessageLength)},
			{"Subscriptions per connection", strconv.Itoa(l.MaxSubscriptions)},
			{"Events per filter", fmt.Sprintf("%d, or %d when no limit is given", l.MaxLimit, l.DefaultLimit)},
			{"Events ahead of time", fmt.Sprintf("up to %d seconds", l.CreatedAtUpperLimit)},
		}
	}
	return d
}

// size formats a number of bytes for people.
func size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + " MiB"
	case n >= 1<<10:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " bytes"
}

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
