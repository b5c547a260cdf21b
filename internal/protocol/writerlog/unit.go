package writerlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"engramd/nips/nipae"
)

// UnitSize is how many ids a log unit keeps.
const UnitSize = 512

// UnitMember is the member of a log unit's body that has the addresses of its ids, in
// base64 one behind the other, 32 zero bytes where one is not known. The text has ids
// alone: older programs read no more, and both in hex are too large for an event.
const UnitMember = "addresses"

// EndsMember is the member of a log unit's body that says which of its numbers expire: a
// list of End.
const EndsMember = "ends"

// unitPrefix begins the slugs of log units.
const unitPrefix = "mem/sys/log/"

// ErrUnit is a text that is no log unit.
var ErrUnit = errors.New("not a unit of a writer's log")

// Unit is a log unit: ids of a log, so that its tree can be checked when relays
// have dropped the events. Units are not chained themselves.
type Unit struct {
	W     string
	First int64  // the number of the first id, or of the first void number
	IDs   []Hash // at most UnitSize
	Ds    []Hash // the addresses of IDs, zero where one is not known; nil: none is
	Void  []Num  // numbers that no relay has, beyond those that links name
	Ends  []End  // at most UnitSize
}

// UnitSlug is where the k-th unit of a log lies, which begins at number
// k × UnitSize.
func UnitSlug(log string, k int64) nipae.Slug {
	return nipae.Slug(unitPrefix + log + "/" + strconv.FormatInt(k, 10))
}

// VoidSlug is where a unit without ids lies that names numbers as void, from n
// on, because links have no room for them.
func VoidSlug(log string, n int64) nipae.Slug {
	return nipae.Slug(unitPrefix + log + "/void-" + strconv.FormatInt(n, 10))
}

// IsUnit reports whether a slug is that of a log unit.
func IsUnit(s nipae.Slug) bool { return IsUnitName(string(s)) }

// IsUnitName is IsUnit of a slug that is not checked.
func IsUnitName(s string) bool { return strings.HasPrefix(s, unitPrefix) }

// Text returns the unit as it is stored.
func (u Unit) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engramd log 1\nwriter %s\nfirst %d\n", u.W, u.First)
	for _, v := range u.Void {
		fmt.Fprintf(&b, "void %d %s\n", v.N, v.ID)
	}
	for _, id := range u.IDs {
		fmt.Fprintf(&b, "%x\n", id[:])
	}
	return b.String()
}

// Addresses is the value of UnitMember.
func (u Unit) Addresses() jsontext.Value {
	all := []byte{}
	for _, d := range u.Ds {
		all = append(all, d[:]...)
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err) // base64
	}
	return b
}

// UnitOf reads the unit of an engram at its slug, with its addresses: with none where
// their member has another form. The error is ErrUnit.
func UnitOf(e nipae.Engram) (Unit, error) {
	text, live := e.Body.Text()
	if !live || !IsUnit(e.Slug()) {
		return Unit{}, fmt.Errorf("%w: it is at no slug of one, or removed", ErrUnit)
	}
	u, err := ParseUnit(e.Slug(), text)
	raw, _ := e.Body.Member(UnitMember)
	u.Ds = parseAddresses(raw, len(u.IDs))
	raw, _ = e.Body.Member(EndsMember)
	_ = json.Unmarshal(raw, &u.Ends) // of another form it is none
	u.Ends = slices.DeleteFunc(u.Ends, func(e End) bool { return e[0] < u.First || e[0] >= u.First+int64(len(u.IDs)) })
	return u, err
}

// parseAddresses reads the value of UnitMember beside that many ids.
func parseAddresses(raw jsontext.Value, count int) (ds []Hash) {
	var all []byte
	if err := json.Unmarshal(raw, &all); err != nil || len(all) != count*len(Hash{}) {
		return nil
	}
	for d := range slices.Chunk(all, len(Hash{})) {
		ds = append(ds, Hash(d))
	}
	return ds
}

// ParseUnit reads the text of a unit at its slug: all but the addresses. The error is
// ErrUnit.
func ParseUnit(slug nipae.Slug, text string) (Unit, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 || lines[0] != "engramd log 1" || len(lines) > 3+2*UnitSize {
		return Unit{}, fmt.Errorf("%w: it does not begin as one, or is too long", ErrUnit)
	}
	log, found := strings.CutPrefix(lines[1], "writer ")
	first, here := strings.CutPrefix(lines[2], "first ")
	u := Unit{W: strings.Clone(log)} // what is kept is no part of the text
	var ok bool
	if u.First, ok = number(first); !found || !here || !ok || !IsLog(log) {
		return Unit{}, fmt.Errorf("%w: it does not say whose it is and where it begins", ErrUnit)
	}
	for _, line := range lines[3:] {
		if rest, isVoid := strings.CutPrefix(line, "void "); isVoid {
			n, id, _ := strings.Cut(rest, " ")
			v := Num{ID: strings.Clone(id)}
			v.N, ok = number(n)
			if _, good := ParseID(id); !ok || !good || len(u.IDs) > 0 || len(u.Void) == UnitSize {
				return Unit{}, fmt.Errorf("%w: a void number in it", ErrUnit)
			}
			u.Void = append(u.Void, v)
			continue
		}
		id, good := ParseID(line)
		if !good || len(u.IDs) == UnitSize {
			return Unit{}, fmt.Errorf("%w: a line of it is no id", ErrUnit)
		}
		u.IDs = append(u.IDs, id)
	}
	if !u.at(slug) {
		return Unit{}, fmt.Errorf("%w: it is at another slug than its own", ErrUnit)
	}
	return u, nil
}

func (u Unit) at(slug nipae.Slug) bool {
	if len(u.IDs) == 0 {
		return len(u.Void) > 0 && u.Void[0].N == u.First && slug == VoidSlug(u.W, u.First)
	}
	return u.First%UnitSize == 0 && slug == UnitSlug(u.W, u.First/UnitSize)
}

func number(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0 && n <= maxN && strconv.FormatInt(n, 10) == s
}
