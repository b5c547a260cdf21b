package relayhttp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/config"
)

// maxAuthorization bounds the base64 text of a NIP-98 header. It is several
// times what an event with a long URL needs.
const maxAuthorization = 8 << 10

// signatures checks the Authorization headers of NIP-98 against the relay's
// own names. What the client says in Host or X-Forwarded-* never counts.
//
// It does not remember headers. Within the window a header may come again with
// the same request, which does no harm: reading twice shows the same, and
// publishing twice is a duplicate. A call that changes anything else goes
// through once, which remembers.
type signatures struct {
	names relay.Names
	clock func() time.Time
}

// signed says who signed a request, and for which body.
type signed struct {
	id      string // of the event
	pubkey  string
	payload *string // value of the payload tag, nil without one
}

// check reads the Authorization header of a request for an endpoint and
// returns who signed it; the body is left to covers. The error names the failed
// check, without a prefix.
func (s *signatures) check(headers []string, method, endpoint, rawQuery string) (signed, error) {
	ev, err := authorizationEvent(headers)
	if err != nil {
		return signed{}, err
	}
	if ev.Kind != nostr.KindHTTPAuth {
		return signed{}, fmt.Errorf("the event in Authorization has kind %d, not %d", ev.Kind, nostr.KindHTTPAuth)
	}
	if err := wire.Verify(ev); err != nil {
		return signed{}, fmt.Errorf("the event in Authorization: %w", err)
	}
	if err := s.checkTime(int64(ev.CreatedAt)); err != nil {
		return signed{}, err
	}
	if err := s.checkURL(ev, endpoint, rawQuery); err != nil {
		return signed{}, err
	}
	named, err := theTag(ev, "method")
	if err != nil {
		return signed{}, err
	}
	if named == nil || !strings.EqualFold(*named, method) { // nostr-tools signs "post"
		return signed{}, errors.New("the method tag must be " + method)
	}
	payload, err := theTag(ev, "payload")
	return signed{ev.ID, ev.PubKey, payload}, err
}

// authorizationEvent decodes the header. The event's shape is that of any
// event on the wire.
func authorizationEvent(headers []string) (*nostr.Event, error) {
	const how = ": sign the request as NIP-98 has it, Authorization: Nostr BASE64-OF-EVENT"
	switch {
	case len(headers) == 0:
		return nil, errors.New("there is no Authorization header" + how)
	case len(headers) > 1:
		return nil, errors.New("there are several Authorization headers")
	}
	scheme, text, _ := strings.Cut(strings.TrimSpace(headers[0]), " ")
	text = strings.TrimLeft(text, " ")
	switch {
	case !strings.EqualFold(scheme, "Nostr") || text == "":
		return nil, errors.New("the Authorization header is none of NIP-98" + how)
	case len(text) > maxAuthorization:
		return nil, fmt.Errorf("the Authorization header is over %d bytes", maxAuthorization)
	case strings.ContainsAny(text, "\r\n"):
		// Go's decoder would skip them.
		return nil, errors.New("the Authorization header is not standard base64")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("the Authorization header is not standard base64 with its padding")
	}
	ev, err := wire.ParseEvent(raw)
	if err != nil {
		return nil, fmt.Errorf("the Authorization header holds no event: %w", err)
	}
	return ev, nil
}

func (s *signatures) checkTime(created int64) error {
	now := s.clock().Unix()
	off := now - created // both are positive: no overflow
	if window := int64(config.HTTPWindow / time.Second); off > window || -off > window {
		return fmt.Errorf("created_at %d is more than %s off this relay's clock, where it is %d (%s)",
			created, config.HTTPWindow, now, time.Unix(now, 0).UTC().Format(time.RFC3339))
	}
	return nil
}

// checkURL checks that the u tag is one of the relay's names with the endpoint
// and the query after it. At a name with a path, the endpoint is below that
// path.
func (s *signatures) checkURL(ev *nostr.Event, endpoint, rawQuery string) error {
	u, err := theTag(ev, "u")
	if err != nil {
		return err
	}
	if u == nil {
		return errors.New("there is no u tag")
	}
	raw := *u
	if endpoint == "" && len(raw) >= 2 && strings.EqualFold(raw[:2], "ws") {
		raw = "http" + raw[2:] // the relay's URL itself may be written with ws as well (NIP-86)
	}
	query, ok := s.names.Endpoint(raw, endpoint)
	if !ok {
		return errors.New("the u tag names another URL than " + s.names.HTTP() + endpoint)
	}
	if query != rawQuery {
		return errors.New("the u tag has another query string than the request")
	}
	return nil
}

// covers checks the payload tag against the body. A body needs one.
func (s signed) covers(body []byte) error {
	sum := sha256.Sum256(body)
	switch {
	case s.payload == nil && len(body) > 0:
		return errors.New("there is no payload tag with the SHA-256 of the body")
	case s.payload != nil && *s.payload != hex.EncodeToString(sum[:]):
		return errors.New("the payload tag is not the SHA-256 of the body in lower-case hex")
	}
	return nil
}

// theTag returns the value of the only tag with this name, nil if there is
// none. With two of them, a signature for another request would count here too.
func theTag(ev *nostr.Event, name string) (value *string, err error) {
	for _, tag := range ev.Tags {
		if tag[0] != name {
			continue
		}
		if value != nil {
			return nil, errors.New("there are several " + name + " tags")
		}
		value = new(string)
		if len(tag) > 1 {
			*value = tag[1]
		}
	}
	return value, nil
}
