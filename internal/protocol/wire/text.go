package wire

import (
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads the string at the present byte, which is its opening quote. It
// allocates only when the string holds escapes.
func (s *scanner) str() (string, error) {
	start := s.pos + 1
	end := nextSpecial(s.src, start)
	if end == len(s.src) {
		return "", reason("not JSON: the text ends inside a string")
	}
	switch s.src[end] {
	case '"':
		s.pos = end + 1
		out := s.src[start:end]
		if s.unclean && !utf8.ValidString(out) {
			return "", reason("invalid UTF-8")
		}
		return out, nil
	case '\\':
		return s.escaped(start, end)
	default:
		return "", reason("not JSON: control character in a string")
	}
}

// escaped reads a string that starts at start and whose first backslash is at
// next.
func (s *scanner) escaped(start, next int) (string, error) {
	buf := make([]byte, 0, len(s.src[start:next])+64)
	for {
		buf = append(buf, s.src[start:next]...)
		if next == len(s.src) {
			return "", reason("not JSON: the text ends inside a string")
		}
		switch s.src[next] {
		case '"':
			s.pos = next + 1
			if s.unclean && !utf8.Valid(buf) {
				return "", reason("invalid UTF-8")
			}
			return string(buf), nil
		case '\\':
			var err error
			if buf, start, err = unescape(buf, s.src, next+1); err != nil {
				return "", err
			}
		default:
			return "", reason("not JSON: control character in a string")
		}
		next = nextSpecial(s.src, start)
	}
}

// unescape appends the character of the escape whose letter is at src[i] and
// returns the position after it.
func unescape(buf []byte, src string, i int) ([]byte, int, error) {
	if i >= len(src) {
		return buf, i, reason("not JSON: the text ends inside a string")
	}
	switch c := src[i]; c {
	case '"', '\\', '/':
		return append(buf, c), i + 1, nil
	case 'b':
		return append(buf, '\b'), i + 1, nil
	case 'f':
		return append(buf, '\f'), i + 1, nil
	case 'n':
		return append(buf, '\n'), i + 1, nil
	case 'r':
		return append(buf, '\r'), i + 1, nil
	case 't':
		return append(buf, '\t'), i + 1, nil
	case 'u':
		r, ok := hex4(src, i+1)
		if !ok {
			return buf, i, reason("not JSON: bad \\u escape")
		}
		i += 5
		if !utf16.IsSurrogate(r) {
			return utf8.AppendRune(buf, r), i, nil
		}
		// A high half must be followed by the escape of a low one; DecodeRune
		// answers U+FFFD for every other combination.
		if i+1 < len(src) && src[i] == '\\' && src[i+1] == 'u' {
			if low, ok := hex4(src, i+2); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					return utf8.AppendRune(buf, pair), i + 6, nil
				}
			}
		}
		return buf, i, reason("lone surrogate in a string")
	default:
		return buf, i, reason("not JSON: unknown escape in a string")
	}
}

// hex4 reads four hex digits of either case at src[i].
func hex4(src string, i int) (r rune, ok bool) {
	if i+4 > len(src) {
		return 0, false
	}
	n, err := strconv.ParseUint(src[i:i+4], 16, 16)
	return rune(n), err == nil
}

// nextSpecial returns the position of the first quote, backslash or control
// character in s from i on, or len(s). Contents of engrams are tens of
// kilobytes without any, so it looks at eight bytes at a time.
func nextSpecial(s string, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(s); i += 8 {
		w := s[i : i+8]
		x := uint64(w[0]) | uint64(w[1])<<8 | uint64(w[2])<<16 | uint64(w[3])<<24 |
			uint64(w[4])<<32 | uint64(w[5])<<40 | uint64(w[6])<<48 | uint64(w[7])<<56
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		// (v - ones) &^ v has the high bit of v's lowest zero byte; the same
		// with ones*0x20 that of the lowest byte below 0x20. Bits above the
		// lowest may be wrong, which does not matter: only that one is used.
		hit := ((x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}

// notHex marks bytes that are no lower-case hex digit.
const notHex = 0x80

// hexValues is the value of each lower-case hex digit, notHex for other bytes.
// A branch for each of an event's 256 random digits would be guessed wrongly
// half of the time, which costs more than all the rest of reading them.
var hexValues = func() (values [256]byte) {
	for i := range values {
		switch c := byte(i); {
		case c >= '0' && c <= '9':
			values[i] = c - '0'
		case c >= 'a' && c <= 'f':
			values[i] = c - 'a' + 10
		default:
			values[i] = notHex
		}
	}
	return values
}()

// lowerHex reports whether s is exactly n lower-case hex digits.
func lowerHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	var seen byte
	for i := range len(s) {
		seen |= hexValues[s[i]]
	}
	return seen < notHex
}

// decodeHex decodes s, which must be exactly as many lower-case hex digits as
// fill dst.
func decodeHex(dst []byte, s string) bool {
	if len(s) != 2*len(dst) {
		return false
	}
	var seen byte
	for i := range dst {
		high, low := hexValues[s[2*i]], hexValues[s[2*i+1]]
		seen |= high | low
		dst[i] = high<<4 | low
	}
	return seen < notHex
}
