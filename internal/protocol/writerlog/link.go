package writerlog

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"engramd/nips/nipae"
)

// Member is the name of the body's member that holds a Link.
const Member = "chain"

// Bounds of a link.
const (
	MaxVoid  = 32 // numbers that one link names as void
	MaxAfter = 16 // logs that the first link of a log names
	MaxOpen  = 16 // spans of numbers that one link names as open
	MaxEnds  = 16 // numbers of which one link says when they expire
	maxN     = 1 << 53
)

// ErrLink is a member "chain" that is no link.
var ErrLink = errors.New("not a link of a writer's log")

// Hash is the head of a tree, or an event's id.
type Hash = tlog.Hash

// Link is what one engram says of its place in its writer's log.
type Link struct {
	W     string // the log: 8 lower-case hex digits
	N     int64  // its number, from 0
	T     int64  // created_at of the event that it is in, in Unix seconds
	Prev  string // the id of number N-1, stored or void; "" for number 0
	Root  Hash   // the head of the tree over the ids of numbers 0 to N-1
	Void  []Num  // numbers before this one that no relay has
	After []Head // of number 0: the last number of each log seen before
	Open  []Span // numbers before this one of which it was not known whether they are stored
	Ends  []End  // numbers before this one that expire, the next first
}

// End is a number of a log and when its event expires, in Unix seconds; in JSON both in a
// list. A relay that has it no more has lost nothing.
type End [2]int64

// Span is a span of numbers, both included.
type Span struct{ From, To int64 }

// Spans makes spans of ascending numbers, MaxOpen at most: beyond these the first
// ones become one, with what is between them.
func Spans(numbers []int64) (spans []Span) {
	for _, n := range numbers {
		if k := len(spans) - 1; k >= 0 && spans[k].To+1 >= n {
			spans[k].To = n
			continue
		}
		spans = append(spans, Span{n, n})
	}
	if over := len(spans) - MaxOpen; over > 0 {
		spans[over].From = spans[0].From
		spans = spans[over:]
	}
	return spans
}

// IsOpen reports whether the link names a number before it as one whose fate was
// not known.
func (l Link) IsOpen(n int64) bool {
	return slices.ContainsFunc(l.Open, func(s Span) bool { return s.From <= n && n <= s.To })
}

// Num is a number of a log and the id that it was taken for; in JSON both in a
// list.
type Num struct {
	N  int64
	ID string // 64 lower-case hex digits
}

// MarshalJSON returns [N, ID].
func (n Num) MarshalJSON() ([]byte, error) { return json.Marshal([]any{n.N, n.ID}) }

// UnmarshalJSON reads [N, ID].
func (n *Num) UnmarshalJSON(b []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(b, &pair); err != nil || len(pair) != 2 {
		return ErrLink
	}
	return errors.Join(json.Unmarshal(pair[0], &n.N), json.Unmarshal(pair[1], &n.ID))
}

// Head is the last number of a log.
type Head struct {
	W  string `json:"w"`
	N  int64  `json:"n"`
	ID string `json:"id"`
}

type linkJSON struct {
	W     string     `json:"w"`
	N     *int64     `json:"n"`
	T     int64      `json:"t"`
	Prev  string     `json:"prev,omitempty"`
	Root  string     `json:"root"`
	Void  []Num      `json:"void,omitempty"`
	After []Head     `json:"after,omitempty"`
	Open  [][2]int64 `json:"open,omitempty"`
	Ends  []End      `json:"ends,omitempty"`
}

// JSON returns the member's value.
func (l Link) JSON() []byte {
	out := linkJSON{W: l.W, N: &l.N, T: l.T, Prev: l.Prev, Root: hex.EncodeToString(l.Root[:]), Void: l.Void, After: l.After, Ends: l.Ends}
	for _, s := range l.Open {
		out.Open = append(out.Open, [2]int64{s.From, s.To})
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // numbers and hex digits
	}
	return b
}

// Parse reads the member's value; members that it does not know are left. The
// error is ErrLink.
func Parse(b []byte) (Link, error) {
	var in linkJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return Link{}, fmt.Errorf("%w: it is no object of its form", ErrLink)
	}
	l := Link{W: in.W, T: in.T, Prev: in.Prev, Void: in.Void, After: in.After, Ends: in.Ends}
	root, ok := ParseID(in.Root)
	switch {
	case in.N == nil || *in.N < 0 || *in.N > maxN:
		return Link{}, fmt.Errorf("%w: it has no number", ErrLink)
	case !IsLog(in.W):
		return Link{}, fmt.Errorf("%w: its log is not 8 lower-case hex digits", ErrLink)
	case !ok:
		return Link{}, fmt.Errorf("%w: its root is not 64 lower-case hex digits", ErrLink)
	case len(in.Void) > MaxVoid || len(in.After) > MaxAfter || len(in.Open) > MaxOpen || len(in.Ends) > MaxEnds:
		return Link{}, fmt.Errorf("%w: it names too many", ErrLink)
	}
	l.N, l.Root = *in.N, root
	if _, ok := ParseID(l.Prev); ok != (l.N > 0) || !ok && l.Prev != "" {
		return Link{}, fmt.Errorf("%w: prev is an id behind number 0 and nothing else", ErrLink)
	}
	for _, v := range in.Void {
		if _, ok := ParseID(v.ID); !ok || v.N < 0 || v.N >= l.N {
			return Link{}, fmt.Errorf("%w: a void number is not before it", ErrLink)
		}
	}
	for _, e := range in.Ends {
		if e[0] < 0 || e[0] >= l.N || e[1] <= 0 {
			return Link{}, fmt.Errorf("%w: a number that expires is not before it", ErrLink)
		}
	}
	for _, h := range in.After {
		if _, ok := ParseID(h.ID); !ok || !IsLog(h.W) || h.N < 0 || h.N > maxN || l.N > 0 {
			return Link{}, fmt.Errorf("%w: what it comes after is no log's last number", ErrLink)
		}
	}
	before := int64(-1)
	for _, s := range in.Open {
		if s[0] <= before || s[1] < s[0] || s[1] >= l.N {
			return Link{}, fmt.Errorf("%w: its open numbers are not before it, in their order", ErrLink)
		}
		before = s[1]
		l.Open = append(l.Open, Span{s[0], s[1]})
	}
	return l, nil
}

// Of returns the link of an engram; false if it is unchained: it has none, or
// one that was copied from another event by a program that does not know the
// member.
func Of(e nipae.Engram) (Link, bool) {
	raw, ok := e.Body.Member(Member)
	if !ok {
		return Link{}, false
	}
	l, err := Parse(raw)
	return l, err == nil && l.T == e.CreatedAt()
}

// ParseID reads an event's id, or the head of a tree: 64 lower-case hex digits.
func ParseID(s string) (id Hash, ok bool) {
	if len(s) != 2*len(id) || strings.Trim(s, "0123456789abcdef") != "" {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(s))
	return id, err == nil
}

// IsLog reports whether s names a log: 8 lower-case hex digits.
func IsLog(s string) bool { return len(s) == 8 && strings.Trim(s, "0123456789abcdef") == "" }
