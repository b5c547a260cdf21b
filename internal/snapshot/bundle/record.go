package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/kind"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// errNotCanonical means that a line is not what wire.AppendEvent writes.
var errNotCanonical = errors.New("not in the canonical form of an event")

// record is an event with what the format needs to know of it.
type record struct {
	ev   *nostr.Event
	id   [32]byte
	addr address
}

// address is kind, author and d in fixed size. Engrams keep their d, for the
// root; everything else is hashed. The first byte tells them apart.
type address [33]byte

const (
	addrNone   = iota // a regular event
	addrEngram        // the d of an engram
	addrHash          // SHA-256 of kind, pubkey and d
)

// parseRecord reads one event as it stands in a bundle. Neither id nor
// signature is verified.
func parseRecord(line []byte) (*record, error) {
	ev, err := wire.ParseEvent(line)
	if err != nil {
		return nil, err
	}
	r := &record{ev: ev, addr: addressOf(ev)}
	if _, err := hex.Decode(r.id[:], []byte(ev.ID)); err != nil {
		return nil, err
	}
	return r, nil
}

// parseCanonical is parseRecord for lines that must be in canonical form.
func parseCanonical(line []byte) (*record, error) {
	r, err := parseRecord(line)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(wire.AppendEvent(make([]byte, 0, len(line)), r.ev), line) {
		return nil, errNotCanonical
	}
	return r, nil
}

func addressOf(ev *nostr.Event) address {
	var a address
	d, ok := dOf(ev)
	if !ok {
		return a
	}
	if ev.Kind == nipae.Kind && hex64Rule.MatchString(d) {
		a[0] = addrEngram
		hex.Decode(a[1:], []byte(d))
		return a
	}
	a[0] = addrHash
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s:%s", ev.Kind, ev.PubKey, d))
	copy(a[1:], sum[:])
	return a
}

// dOf returns what an event's replacements have in common beside kind and
// author (NIP-01): the first d tag's value, empty for replaceable kinds; ok is
// false for regular events.
func dOf(ev *nostr.Event) (d string, ok bool) {
	switch {
	case ev.Kind >= 30000 && ev.Kind < 40000:
		return ev.Tags.GetD(), true
	case ev.Kind == 0 || ev.Kind == 3 || ev.Kind >= 10000 && ev.Kind < 20000:
		return "", true
	}
	return "", false
}

// belongs checks that an event of this kind and author has a place in the
// class for the agent.
func (r *record) belongs(class Class, agent string) error {
	of, own := r.ev.Kind, r.ev.PubKey == agent
	switch of {
	case nipae.Kind:
		if (class == Heads || class == History) && own {
			return nil
		}
	case nostr.KindDeletion, kind.Vanish:
		if class == Deletions && (own || withdraws(r.ev)) {
			return nil
		}
	case nostr.KindRelayListMetadata:
		if (class == Relays || class == History) && own {
			return nil
		}
	case niptemp.KindEntry, niptemp.KindState:
		if (class == Contracts || class == History) && (own || r.ev.Tags.FindWithValue("p", agent) != nil) {
			return nil
		}
	}
	return fmt.Errorf("an event of of %d by %s has no place among the %s of agent %s", of, r.ev.PubKey, class, agent)
}

// withdraws reports whether an event may be a request by which contract memory
// was withdrawn: it is of kind 5, names something, and of addresses none but of
// contract memory. It does what its author signed and nothing else, wherever it
// comes from.
func withdraws(ev *nostr.Event) bool {
	names := false
	for _, tag := range ev.Tags {
		if len(tag) < 2 || tag[0] != "e" && tag[0] != "a" {
			continue
		}
		of, _, _ := strings.Cut(tag[1], ":")
		if tag[0] == "a" && of != strconv.Itoa(niptemp.KindEntry) && of != strconv.Itoa(niptemp.KindState) {
			return false
		}
		names = true
	}
	return names && ev.Kind == nostr.KindDeletion
}

// owner returns the key in the p tag of an engram.
func (r *record) owner() string { return r.ev.Tags.Find("p").Value() }

// CheckShape judges the shape of the kinds that have one, which every event of
// a bundle must have.
func CheckShape(ev *nostr.Event) error {
	switch ev.Kind {
	case nipae.Kind:
		return nipae.CheckEnvelope(ev)
	case niptemp.KindEntry:
		return niptemp.CheckEntry(ev)
	case niptemp.KindState:
		return niptemp.CheckStateShape(ev)
	}
	return nil
}

// appendKey appends what the lines of an artifact are sorted by, as bytes that
// compare like it: kind, d, created_at descending, id.
func (r *record) appendKey(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(r.ev.Kind))
	d, _ := dOf(r.ev)
	for i := 0; i < len(d); i++ {
		if d[i] == 0 { // 0 0 ends the text, so a 0 in it becomes 0 1
			dst = append(dst, 0, 1)
		} else {
			dst = append(dst, d[i])
		}
	}
	dst = append(dst, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, ^uint64(r.ev.CreatedAt))
	return append(dst, r.id[:]...)
}

// ParseEvent reads one event as a Source gives it. Neither id nor signature is
// verified: that is done for everything that comes from a Bundle.
func ParseEvent(line []byte) (*nostr.Event, error) { return wire.ParseEvent(line) }
