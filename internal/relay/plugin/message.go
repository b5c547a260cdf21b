package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/logging/redact"
)

// question returns the line that asks about an event.
func (o *Options) question(ctx context.Context, ev *nostr.Event, now time.Time) []byte {
	line := append(make([]byte, 0, len(ev.Content)+1024), `{"type":"new","event":`...)
	line = wire.AppendEvent(line, ev)
	line = append(line, `,"receivedAt":`...)
	line = strconv.AppendInt(line, now.Unix(), 10)
	kind, info := source(o.Addr(ctx))
	line = append(line, `,"sourceType":"`+kind+`","sourceInfo":"`+info+`"`...)
	if key := o.authed(ctx, ev.PubKey); key != "" {
		line = append(line, `,"authed":"`+key+`"`...)
	}
	return append(oneLine(line), "}\n"...)
}

// source reports where an event came from. What has no address the relay itself
// brings, out of what it stored: an entry that its outbox tries again.
func source(addr netip.Addr) (kind, info string) {
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return "Stored", ""
	case addr.Is4():
		return "IP4", addr.String()
	}
	return "IP6", addr.String()
}

// authed returns the key that the writer has proved: the author's, if it is
// among several, because that is what a program compares it with.
func (o *Options) authed(ctx context.Context, author string) string {
	reader := o.Reader(ctx)
	switch keys := reader.Keys(); {
	case reader.Has(author):
		return author
	case len(keys) > 0:
		return keys[0]
	}
	return ""
}

// oneLine escapes what some languages take for the end of a line within a JSON
// string: half a line would end a program that a client wants to end.
func oneLine(line []byte) []byte {
	for _, end := range []struct{ raw, escaped string }{
		{"\u0085", `\u0085`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`},
	} {
		line = bytes.ReplaceAll(line, []byte(end.raw), []byte(end.escaped))
	}
	return line
}

// answer is the line that a program says.
type answer struct {
	ID     string `json:"id"`
	Action string `json:"action"`
	Msg    string `json:"msg"`
}

// Actions of an answer.
const (
	accept       = "accept"
	reject       = "reject"
	shadowReject = "shadowReject" // a reject: an OK that is true is a promise here
)

// errNoise is for lines that are no JSON at all: something that a program, or
// what it calls, prints by the way.
var errNoise = errors.New("a line that is no JSON")

func parseAnswer(line []byte) (answer, error) {
	var a answer
	if !json.Valid(line) {
		return a, errNoise
	}
	if json.Unmarshal(line, &a) != nil || a.ID == "" {
		return a, errors.New("an answer without the id of an event")
	}
	if a.Action != accept && a.Action != reject && a.Action != shadowReject {
		return a, errors.New("an answer whose action is none of accept, reject and shadowReject")
	}
	return a, nil
}

// maxMessage bounds what is passed on of a program's reason, in bytes.
const maxMessage = 400

// prefixes are the machine-readable ones of NIP-01 and NIP-42 that a program
// may use. Not duplicate, which says that the relay has the event.
var prefixes = []string{"auth-required", "blocked", "error", "invalid", "mute", "pow", "rate-limited", "restricted"}

// message returns a program's reason as the OK has it: with a prefix, in one
// line, not too long.
func message(msg string) string {
	msg = strings.TrimFunc(msg, func(r rune) bool { return r < ' ' || r == 0x7f || unicode.IsSpace(r) })
	msg = redact.OneLine(msg, maxMessage)
	if msg == "" {
		return "blocked: not accepted by this relay's write policy"
	}
	if prefix, text, ok := strings.Cut(msg, ":"); ok && slices.Contains(prefixes, prefix) {
		return prefix + ": " + strings.TrimSpace(text)
	}
	return "blocked: " + msg
}
