package niptemp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
)

// KindOrder is the kind of a relay's word on the order in which a contract's
// memory arrived. It is handed to those who ask and never published.
const KindOrder = kind.Statement

// OrderFormat names the lines that an order is of. Verifiers demand it.
const OrderFormat = "engramd-order-v1"

// HandoverFormat names the statement of a relay's key that another is its
// successor.
const HandoverFormat = "engramd-relay-key-v1"

// Handover returns the statement, without author and signature. It has no date,
// which would prove nothing.
func Handover(to string) nostr.Event {
	return nostr.Event{Kind: KindOrder, Tags: nostr.Tags{{"format", HandoverFormat}, {"p", to}}}
}

// Succeed adds to keys those that they, and their successors, have handed over to
// by statements, whose signatures are checked elsewhere, the oldest first.
func Succeed(keys []string, statements []*nostr.Event) []string {
	keys = slices.Clone(keys)
	for _, ev := range statements {
		format, err := oneTag(ev.Tags, "format")
		to, fault := oneTag(ev.Tags, "p")
		if ev.Kind == KindOrder && err == nil && fault == nil && format == HandoverFormat && slices.Contains(keys, ev.PubKey) && nostr.IsValid32ByteHex(to) {
			keys = append(keys, to)
		}
	}
	return keys
}

// OrderItem is one line of an order: a number, when it was received (Unix
// seconds), and the id of the event, "" for a gap.
type OrderItem struct {
	N, ReceivedAt int64
	ID            string
}

// OrderLine returns the line of one number: "n received_at id" and LF, where
// the id is 64 lower-case hex digits, or - for a gap, where id is empty.
func OrderLine(n, receivedAt int64, id []byte) []byte {
	line := strconv.AppendInt(make([]byte, 0, 96), n, 10)
	line = strconv.AppendInt(append(line, ' '), receivedAt, 10)
	line = append(line, ' ')
	if len(id) == 0 {
		return append(line, '-', '\n')
	}
	return append(hex.AppendEncode(line, id), '\n')
}

// OrderEvent returns the event, without author and signature, that says which
// lines are the order of a contract: x is their SHA-256 in hex.
func OrderEvent(contract, x string, at nostr.Timestamp) nostr.Event {
	return nostr.Event{Kind: KindOrder, CreatedAt: at, Tags: nostr.Tags{{"format", OrderFormat}, {"d", contract}, {"x", x}}}
}

// CheckOrder judges whether an event, whose signature is checked elsewhere, is
// the order of a contract with these lines, and returns what they say: numbers
// rise and stand once, and so do ids. Whether its author is a relay that one
// trusts is another question. Errors are "invalid".
func CheckOrder(ev *nostr.Event, contract, lines string) ([]OrderItem, error) {
	if ev.Kind != KindOrder {
		return nil, invalid("kind %d is not the order of a contract", ev.Kind)
	}
	for _, want := range [...][2]string{{"format", OrderFormat}, {"d", contract}} {
		if got, err := oneTag(ev.Tags, want[0]); err != nil || got != want[1] {
			return nil, invalid("the %s tag of an order must be %q", want[0], want[1])
		}
	}
	sum := sha256.Sum256([]byte(lines))
	if x, err := oneTag(ev.Tags, "x"); err != nil || x != hex.EncodeToString(sum[:]) {
		return nil, invalid("the x tag of an order is not the hash of its lines")
	}
	return ParseOrder(lines)
}

// ParseOrder reads the lines of an order. Errors are "invalid" and name the
// line.
func ParseOrder(lines string) ([]OrderItem, error) {
	var items []OrderItem
	seen := map[string]bool{}
	last := int64(0)
	for at := 1; lines != ""; at++ {
		line, rest, ended := strings.Cut(lines, "\n")
		item, err := parseOrderLine(line)
		switch {
		case err != nil || !ended:
			return nil, invalid("line %d of the order is none", at)
		case item.N <= last:
			return nil, invalid("line %d of the order: its number does not rise", at)
		case item.ID != "" && seen[item.ID]:
			return nil, invalid("line %d of the order: its event stands there twice", at)
		}
		seen[item.ID], last, lines = true, item.N, rest
		items = append(items, item)
	}
	return items, nil
}

func parseOrderLine(line string) (item OrderItem, err error) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		return item, fmt.Errorf("want three parts")
	}
	for i, into := range []*int64{&item.N, &item.ReceivedAt} {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil || n < 0 || strconv.FormatInt(n, 10) != parts[i] {
			return item, fmt.Errorf("want a plain number")
		}
		*into = n
	}
	if parts[2] == "-" {
		return item, nil
	}
	if !nostr.IsValid32ByteHex(parts[2]) {
		return item, fmt.Errorf("want an id")
	}
	item.ID = parts[2]
	return item, nil
}
