package record

import (
	"fmt"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// Record is one event as rows: everything the writer needs, computed before it
// is queued so that the writer's goroutine only talks to the database.
type Record struct {
	Event   *nostr.Event
	ID      []byte // 32
	Pubkey  []byte // 32
	Created int64
	Class   gate.Class
	D       engine.Value // nil for regular kinds, "" for replaceable ones, else key(first d tag)
	Readers []byte       // p tags' values that are keys, gated classes only; else nil
	Expires int64        // NIP-40, 0 never
	Tags    []Tag
	JSON    []byte
}

// RowCost is what writing one index row, or looking up one target of a
// deletion, costs beside storing that many bytes of JSON: an event of 217 kB
// with 17,000 tags kept the writer for 110 ms, which is what 1.7 MB of plain
// notes take.
const RowCost = 100

// Cost is what the record takes of the writer, in bytes of JSON. The queue and
// the batches are bounded in it, so that small messages which make much work
// cannot keep everybody else waiting.
func (r *Record) Cost() int {
	rows := len(r.Tags)
	for i := range r.Tags {
		if r.Tags[i].Name == "p" {
			rows++ // its key may have to be numbered
		}
	}
	if r.Event.Kind == KindDeletion {
		rows += 3 * len(r.Event.Tags)
	}
	return len(r.JSON) + RowCost*rows
}

// Tag is one row of the table tags.
type Tag struct {
	Name  string
	Value engine.Value
}

// Names reports whether one of the first few rows is for a p tag with the key:
// to save work, not to be relied on.
func (r *Record) Names(k Pubkey) bool {
	if r == nil {
		return false
	}
	for i := range r.Tags[:min(len(r.Tags), comparedTags)] {
		if named, ok := r.Tags[i].NumberedKey(); ok && named == k {
			return true
		}
	}
	return false
}

// New computes the rows of an event. It fails when the id or the pubkey
// is no 64 lower-case hex digits, which the strict parser has ruled out.
func New(ev *nostr.Event, class gate.Class) (*Record, error) {
	r := &Record{}
	if err := r.Read(ev, class); err != nil {
		return nil, err
	}
	return r, nil
}

// Parse is the record of an event as JSON, in the class that a table gives it.
func Parse(json []byte, table *gate.Table) (*Record, error) {
	ev, err := column.Event(json)
	if err != nil {
		return nil, err
	}
	return New(ev, table.Classify(ev))
}

// Read is New for one that is part of something else.
func (r *Record) Read(ev *nostr.Event, class gate.Class) error {
	r.Event, r.Created = ev, int64(ev.CreatedAt)
	var ok bool
	if r.ID, ok = column.Hex32(ev.ID); !ok {
		return fmt.Errorf("id is not 64 lower-case hex digits")
	}
	if r.Pubkey, ok = column.Hex32(ev.PubKey); !ok {
		return fmt.Errorf("pubkey is not 64 lower-case hex digits")
	}
	r.D = addressD(ev)
	if r.Expires = 0; !IsContract(ev.Kind) { // which does not expire, whatever a tag says
		r.Expires = expiration(ev.Tags)
	}
	r.SetClass(class)
	r.JSON = wire.AppendEvent(nil, ev)
	return nil
}

// SetClass puts the record into a class.
func (r *Record) SetClass(class gate.Class) {
	r.Class, r.Readers, r.Tags = class, nil, Tags(r.Event.Tags, class)
	if class != gate.Open {
		r.Readers = ReaderKeys(r.Event.Tags)
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

// ReaderKeys joins the pubkeys that the p tags name.
func ReaderKeys(tags nostr.Tags) []byte {
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

// VersionReader is the column reader of a version in history.
func VersionReader(readers []byte) []byte {
	if len(readers) != 32 {
		return []byte{}
	}
	return readers[:8]
}

// FurtherD is the name under which the d values behind an event's first are
// listed once more: no address finds them, but a filter for d matches them too.
const FurtherD = "dd"

// SharedP is the name under which the keys of a gated event's p tags are listed
// once more if they are several: the column reader has that of one alone.
const SharedP = "pp"

// Tags lists the distinct single-letter tags with a value (NIP-01: only the
// first value of a tag is indexed) as an event of a class has them.
func Tags(tags nostr.Tags, class gate.Class) []Tag {
	var out []Tag
	ds, shared := 0, class != gate.Open && len(ReaderKeys(tags)) > 32
	repeated := newRepeats(tags)
	for i, t := range tags {
		if !IndexedTag(t) || repeated(i) {
			continue
		}
		out = append(out, Tag{Name: t[0], Value: column.Of(t[1])})
		if t[0] == "d" {
			if ds++; ds > 1 {
				out = append(out, Tag{Name: FurtherD, Value: column.Of(t[1])})
			}
		}
		if _, isKey := out[len(out)-1].NumberedKey(); isKey && shared {
			out = append(out, Tag{Name: SharedP, Value: column.Of(t[1])})
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
			if IndexedTag(t) && t[0] == tags[i][0] && t[1] == tags[i][1] {
				return true
			}
		}
		return false
	}
}

// IndexedTag reports whether a tag is in the tag index.
func IndexedTag(t nostr.Tag) bool {
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

// NumberedKey is the key in a tag row that lies in the database by its number.
func (t *Tag) NumberedKey() (Pubkey, bool) {
	k, ok := t.Value.([]byte)
	if !ok || t.Name != "p" && t.Name != SharedP {
		return Pubkey{}, false
	}
	return Pubkey(k), true
}

// HasHistory reports whether superseded versions of the record are kept: gated
// replaceable and addressable kinds.
func HasHistory(r *Record) bool { return r.D != nil && r.Class != gate.Open }

// Pubkey is a pubkey as a map key.
type Pubkey [32]byte
