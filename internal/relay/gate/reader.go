package gate

import "slices"

// Reader is the immutable set of pubkeys that a connection (NIP-42, several
// count together) or an HTTP request (NIP-98) has proved. The zero Reader is
// nobody.
type Reader struct{ keys keySet }

// NewReader returns the set of the given pubkeys, each 64 lower-case hex
// digits. Anything else cannot have been proved and is left out.
func NewReader(pubkeys ...string) Reader {
	var keys []string
	for _, pk := range pubkeys {
		if isPubkey(pk) {
			keys = append(keys, pk)
		}
	}
	slices.Sort(keys)
	return Reader{slices.Clip(slices.Compact(keys))}
}

// With returns the reader with one more key; r itself does not change.
func (r Reader) With(pubkey string) Reader {
	if !isPubkey(pubkey) || r.Has(pubkey) {
		return r
	}
	at, _ := slices.BinarySearch(r.keys, pubkey)
	keys := make([]string, 0, len(r.keys)+1)
	keys = append(keys, r.keys[:at]...)
	keys = append(keys, pubkey)
	return Reader{append(keys, r.keys[at:]...)}
}

// Has reports whether pubkey (64 lower-case hex digits) was proved.
func (r Reader) Has(pubkey string) bool { return r.keys.has(pubkey) }

// Empty reports whether nothing was proved.
func (r Reader) Empty() bool { return len(r.keys) == 0 }

// Keys returns the proved pubkeys in ascending order, as a copy.
func (r Reader) Keys() []string { return slices.Clone([]string(r.keys)) }

// hasAll reports whether the list names somebody, and only keys of the reader.
func (r Reader) hasAll(list []string) bool {
	for _, pk := range list {
		if !r.Has(pk) {
			return false
		}
	}
	return len(list) > 0
}

// hasAny reports whether one of the list is a key of the reader.
func (r Reader) hasAny(list []string) bool {
	if r.Empty() {
		return false
	}
	return slices.ContainsFunc(list, r.Has)
}

// keySet is a sorted list of distinct strings.
type keySet []string

// smallSet is the size up to which a linear scan beats a binary search: the
// strings are of equal length and mostly differ in their first bytes.
const smallSet = 8

// newKeySet copies the list: what a scope grants must not change when the
// caller's filter does.
func newKeySet(list []string) keySet {
	if len(list) == 0 {
		return nil
	}
	set := slices.Clone(list)
	slices.Sort(set)
	return slices.Clip(slices.Compact(set))
}

func (s keySet) has(v string) bool {
	if len(s) <= smallSet {
		return slices.Contains(s, v)
	}
	_, found := slices.BinarySearch(s, v)
	return found
}

func isPubkey(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
