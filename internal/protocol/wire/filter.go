package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// MaxFilterValue is how many bytes one value in a filter may have: one entry of
// a list, or the whole of a search. No tag that is looked for is longer, and
// what a subscription asks for is held for as long as it is open.
const MaxFilterValue = 1 << 10

// Limits bounds what one request may ask for. Zero means no bound.
type Limits struct {
	// FilterValues is how many values all the lists of one filter may hold
	// together.
	FilterValues int
	// Filters is how many filters a REQ or COUNT may have.
	Filters int
}

// ParseFilter reads one filter object (NIP-01, NIP-50), and nothing beside it.
// Mistakes that lenient relays overlook are errors that name the key: an
// unknown or misspelt key, null, a wrong type, a key that comes twice.
//
//   - ids and authors are lists of 64 lower-case hex digits, kinds of integers
//     0–65535, "#x" (one ASCII letter) of strings of MaxFilterValue bytes. An empty list is a
//     non-nil empty slice: it matches nothing.
//   - since, until and limit are integers from 0 on, in plain digits.
//     "limit": 0 sets LimitZero.
//   - search holds what is left once NIP-50 extensions (key:value) are dropped
//     and white space is made single; nothing left is an error.
//
// Error texts have no prefix. The filter shares no memory with b and none with
// other filters: it may live as long as a subscription, and must not keep the
// rest of a large frame alive with it.
func ParseFilter(b []byte, lim Limits) (nostr.Filter, error) {
	s := newScanner(b)
	f, err := s.filter(lim)
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nostr.Filter{}, err
	}
	return f, nil
}

// filterKeys are the keys of a filter other than tags.
var filterKeys = [...]string{"ids", "authors", "kinds", "since", "until", "limit", "search"}

// filterReader holds what is known while one filter is read.
type filterReader struct {
	*scanner
	filter nostr.Filter
	seen   int // bits, by filterKeys
	// values counts list entries so far, most is their bound (0: none).
	values, most int
}

// filter reads the filter object at the present byte.
func (s *scanner) filter(lim Limits) (nostr.Filter, error) {
	if s.peek() != '{' {
		return nostr.Filter{}, reason("a filter must be a JSON object")
	}
	s.pos++
	r := filterReader{scanner: s, most: lim.FilterValues}
	for first := true; ; first = false {
		key, ok, err := s.member(first)
		if err != nil {
			return nostr.Filter{}, err
		}
		if !ok {
			return r.filter, nil
		}
		if err := r.key(key); err != nil {
			return nostr.Filter{}, reason("filter key " + quoted(key) + ": " + err.Error())
		}
	}
}

// key reads the value of one key.
func (r *filterReader) key(key string) (err error) {
	f := &r.filter
	if i := slices.Index(filterKeys[:], key); i >= 0 {
		if r.seen&(1<<i) != 0 {
			return reason("given twice")
		}
		r.seen |= 1 << i
	}
	switch key {
	case "ids":
		f.IDs, err = r.texts(true)
	case "authors":
		f.Authors, err = r.texts(true)
	case "kinds":
		f.Kinds, err = r.kinds()
	case "since":
		f.Since, err = r.time()
	case "until":
		f.Until, err = r.time()
	case "limit":
		var n int64
		n, err = r.integer()
		f.Limit, f.LimitZero = int(n), n == 0
	case "search":
		f.Search, err = r.search()
	default:
		if len(key) != 2 || key[0] != '#' || !letter(key[1]) {
			return reason("unknown")
		}
		name := string(key[1])
		if _, dup := f.Tags[name]; dup {
			return reason("given twice")
		}
		if f.Tags == nil {
			f.Tags = make(nostr.TagMap, 2)
		}
		f.Tags[name], err = r.texts(false)
	}
	return err
}

// list moves through the array at the present byte and calls read for each
// element.
func (r *filterReader) list(read func() error) error {
	if r.peek() != '[' {
		return reason("must be a list")
	}
	r.pos++
	for first := true; ; first = false {
		ok, err := r.element(first)
		if err != nil || !ok {
			return err
		}
		if r.values++; r.most > 0 && r.values > r.most {
			return reason("too many values in one filter (at most " + strconv.Itoa(r.most) + ")")
		}
		if err := read(); err != nil {
			return err
		}
	}
}

// texts reads a list of strings, which is never nil.
func (r *filterReader) texts(hex bool) ([]string, error) {
	out := []string{}
	err := r.list(func() error {
		if r.peek() != '"' {
			return reason("must hold strings only")
		}
		v, err := r.str()
		if err != nil {
			return err
		}
		if hex && !lowerHex(v, 64) {
			return reason("must hold 64 lower-case hex digits each (prefixes are not supported)")
		}
		if len(v) > MaxFilterValue {
			return tooLong(v)
		}
		out = append(out, v)
		return nil
	})
	return detach(out), err
}

func tooLong(value string) error {
	return reason("holds a value of " + strconv.Itoa(len(value)) + " bytes (at most " + strconv.Itoa(MaxFilterValue) + ")")
}

// detach gives the strings one backing of their own, in place.
func detach(list []string) []string {
	n := 0
	for _, v := range list {
		n += len(v)
	}
	var b strings.Builder
	b.Grow(n)
	for _, v := range list {
		b.WriteString(v)
	}
	all := b.String()
	for i, v := range list {
		list[i], all = all[:len(v)], all[len(v):]
	}
	return list
}

func (r *filterReader) kinds() ([]int, error) {
	out := []int{}
	err := r.list(func() error {
		k, err := r.kind()
		if err != nil {
			return reason("each kind " + err.Error())
		}
		out = append(out, k)
		return nil
	})
	return out, err
}

func (r *filterReader) time() (*nostr.Timestamp, error) {
	n, err := r.integer()
	if err != nil {
		return nil, err
	}
	t := nostr.Timestamp(n)
	return &t, nil
}

func (r *filterReader) search() (string, error) {
	raw, err := r.strMember()
	if err != nil {
		return "", err
	}
	if len(raw) > MaxFilterValue {
		return "", tooLong(raw)
	}
	words := strings.Fields(raw)
	kept := words[:0]
	for _, w := range words {
		if !searchExtension(w) {
			kept = append(kept, w)
		}
	}
	if len(kept) == 0 {
		return "", reason("holds no words to search for")
	}
	return strings.Clone(strings.Join(kept, " ")), nil
}

// searchExtension reports whether a word of a search is a NIP-50 extension,
// like language:en. A URL is not one: people search for URLs.
func searchExtension(word string) bool {
	name, value, ok := strings.Cut(word, ":")
	if !ok || name == "" || value == "" || strings.HasPrefix(value, "//") {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; !letter(c) && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
