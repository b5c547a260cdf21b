package events

import (
	"fmt"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// record is one event as rows: everything the writer needs, computed before it
// is queued so that the writer's goroutine only talks to the database.
type record struct {
	ev      *nostr.Event
	id      []byte // 32
	pubkey  []byte // 32
	created int64
	class   gate.Class
	d       engine.Value // nil for regular kinds, "" for replaceable ones, else key(first d tag)
	readers []byte       // p tags' values that are keys, gated classes only; else nil
	expires int64        // NIP-40, 0 never
	tags    []tagRow
	json    []byte
}

// rowCost is what writing one index row, or looking up one target of a
// deletion, costs beside storing that many bytes of JSON: an event of 217 kB
// with 17,000 tags kept the writer for 110 ms, which is what 1.7 MB of plain
// notes take.
const rowCost = 100

// cost is what the record takes of the writer, in bytes of JSON. The queue and
// the batches are bounded in it, so that small messages which make much work
// cannot keep everybody else waiting.
func (r *record) cost() int {
	rows := len(r.tags)
	for i := range r.tags {
		if r.tags[i].name == "p" {
			rows++ // its key may have to be numbered
		}
	}
	if r.ev.Kind == kindDeletion {
		rows += 3 * len(r.ev.Tags)
	}
	return len(r.json) + rowCost*rows
}

// tagRow is one row of the table tags.
type tagRow struct {
	name  string
	value engine.Value
}

// names reports whether one of the first few rows is for a p tag with the key:
// to save work, not to be relied on.
func (r *record) names(k author) bool {
	if r == nil {
		return false
	}
	for i := range r.tags[:min(len(r.tags), comparedTags)] {
		if named, ok := r.tags[i].numberedKey(); ok && named == k {
			return true
		}
	}
	return false
}

// newRecord computes the rows of an event. It fails when the id or the pubkey
// is no 64 lower-case hex digits, which the strict parser has ruled out.
func newRecord(ev *nostr.Event, class gate.Class) (*record, error) {
	r := &record{}
	if err := r.read(ev, class); err != nil {
		return nil, err
	}
	return r, nil
}

// read is newRecord for one that is part of something else.
func (r *record) read(ev *nostr.Event, class gate.Class) error {
	r.ev, r.created = ev, int64(ev.CreatedAt)
	var ok bool
	if r.id, ok = column.Hex32(ev.ID); !ok {
		return fmt.Errorf("id is not 64 lower-case hex digits")
	}
	if r.pubkey, ok = column.Hex32(ev.PubKey); !ok {
		return fmt.Errorf("pubkey is not 64 lower-case hex digits")
	}
	r.d = addressD(ev)
	if r.expires = 0; !isContract(ev.Kind) { // which does not expire, whatever a tag says
		r.expires = expiration(ev.Tags)
	}
	r.setClass(class)
	r.tags = tagRows(ev.Tags)
	r.json = wire.AppendEvent(nil, ev)
	return nil
}

// setClass puts the record into a class.
func (r *record) setClass(class gate.Class) {
	r.class, r.readers = class, nil
	if class != gate.Open {
		r.readers = readerKeys(r.ev.Tags)
	}
}

// addressD is the column d of an event.
func addressD(ev *nostr.Event) engine.Value {
	switch {
	case nostr.IsReplaceableKind(ev.Kind):
		return ""
	case nostr.IsAddressableKind(ev.Kind):
		return column.Of(ev.Tags.GetD())
	}
	return nil
}

// readerKeys joins the pubkeys that the p tags name.
func readerKeys(tags nostr.Tags) []byte {
	out := []byte{}
	for _, t := range tags {
		if len(t) >= 2 && t[0] == "p" {
			if k, ok := column.Hex32(t[1]); ok {
				out = append(out, k...)
			}
		}
	}
	return out
}

// furtherD is the name under which the d values behind an event's first are
// listed once more: no address finds them, but a filter for d matches them too.
const furtherD = "dd"

// tagRows lists the distinct single-letter tags with a value (NIP-01: only the
// first value of a tag is indexed).
func tagRows(tags nostr.Tags) []tagRow {
	var out []tagRow
	ds := 0
	repeated := newRepeats(tags)
	for i, t := range tags {
		if !indexedTag(t) || repeated(i) {
			continue
		}
		out = append(out, tagRow{name: t[0], value: column.Of(t[1])})
		if t[0] == "d" {
			if ds++; ds > 1 {
				out = append(out, tagRow{name: furtherD, value: column.Of(t[1])})
			}
		}
	}
	return out
}

// comparedTags is up to how many tags repeats are found by comparing each with
// those before; of more a set is made.
const comparedTags = 32

// newRepeats returns a function that reports whether an indexed tag stood
// before with the same name and value. It is to be asked once for each, in
// order.
func newRepeats(tags nostr.Tags) func(i int) bool {
	if len(tags) > comparedTags {
		seen := make(map[[2]string]bool, len(tags))
		return func(i int) bool {
			k := [2]string{tags[i][0], tags[i][1]}
			before := seen[k]
			seen[k] = true
			return before
		}
	}
	return func(i int) bool {
		for _, t := range tags[:i] {
			if indexedTag(t) && t[0] == tags[i][0] && t[1] == tags[i][1] {
				return true
			}
		}
		return false
	}
}

func indexedTag(t nostr.Tag) bool {
	return len(t) >= 2 && len(t[0]) == 1 && ('a' <= t[0][0] && t[0][0] <= 'z' || 'A' <= t[0][0] && t[0][0] <= 'Z')
}

// expiration is the time in the first expiration tag (NIP-40), 0 when there is
// none or it is no time.
func expiration(tags nostr.Tags) int64 {
	for _, t := range tags {
		if len(t) >= 2 && t[0] == "expiration" {
			at, err := strconv.ParseInt(t[1], 10, 64)
			if err != nil || at <= 0 {
				return 0
			}
			return at
		}
	}
	return 0
}

// numberedKey is the key in a tag row that lies in the database by its number.
func (t *tagRow) numberedKey() (author, bool) {
	k, ok := t.value.([]byte)
	if !ok || t.name != "p" {
		return author{}, false
	}
	return author(k), true
}

// hasHistory reports whether superseded versions of the record are kept: gated
// replaceable and addressable kinds.
func hasHistory(r *record) bool { return r.d != nil && r.class != gate.Open }
