package wire

import (
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds nesting in members that are skipped. Nothing the relay reads
// is deeper than an event's tags in a frame.
const maxDepth = 32

// scanner reads one JSON text (RFC 8259) from front to back. Strings without
// escapes are cut out of src, which therefore stays alive as long as they do.
type scanner struct {
	src string
	pos int
	// unclean is set when src as a whole is not valid UTF-8. Then every string
	// is looked at by itself, so that what precedes the fault can be read.
	unclean bool
}

// newScanner copies b, which the caller may use again.
func newScanner(b []byte) scanner {
	return scanner{src: string(b), unclean: !utf8.Valid(b)}
}

// peek skips white space and returns the byte that follows, 0 at the end. (A
// NUL in the text is no JSON either, so 0 never hides a valid byte.)
func (s *scanner) peek() byte {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

// end accepts white space up to the end of the text.
func (s *scanner) end() error {
	s.peek()
	if s.pos < len(s.src) {
		return reason("trailing data after the JSON text")
	}
	return nil
}

// member moves to the value of an object's next member. The first call for an
// object, past its brace, is made with first = true; ok is false once the
// closing brace has been consumed.
func (s *scanner) member(first bool) (name string, ok bool, err error) {
	c := s.peek()
	if c == '}' {
		s.pos++
		return "", false, nil
	}
	if !first {
		if c != ',' {
			return "", false, s.unexpected("a comma or the end of the object")
		}
		s.pos++
		c = s.peek()
	}
	if c != '"' {
		return "", false, s.unexpected("a member name")
	}
	if name, err = s.str(); err != nil {
		return "", false, err
	}
	if s.peek() != ':' {
		return "", false, s.unexpected("a colon")
	}
	s.pos++
	return name, true, nil
}

// element moves to an array's next element, like member.
func (s *scanner) element(first bool) (ok bool, err error) {
	c := s.peek()
	if c == ']' {
		s.pos++
		return false, nil
	}
	if first {
		return true, nil
	}
	if c != ',' {
		return false, s.unexpected("a comma or the end of the array")
	}
	s.pos++
	if s.peek() == ']' {
		return false, s.unexpected("a value")
	}
	return true, nil
}

// integer reads a JSON number without sign, fraction and exponent that fits
// into 63 bits. ok is false when there is no number at all.
func (s *scanner) integer() (n int64, err error) {
	c := s.peek()
	if c == '-' {
		return 0, reason("must not be negative")
	}
	if c < '0' || c > '9' {
		return 0, reason("must be an integer")
	}
	start := s.pos
	for s.pos < len(s.src) {
		c = s.src[s.pos]
		if c == '.' || c == 'e' || c == 'E' {
			return 0, reason("must be an integer written in plain digits")
		}
		if c < '0' || c > '9' {
			break
		}
		s.pos++
	}
	digits := s.src[start:s.pos]
	if len(digits) > 1 && digits[0] == '0' {
		return 0, reason("must not have leading zeros")
	}
	if n, err = strconv.ParseInt(digits, 10, 64); err != nil {
		return 0, reason("is out of range")
	}
	return n, nil
}

// skip passes over one value of any type, checking its grammar.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return reason("nested too deeply")
	}
	switch c := s.peek(); c {
	case '"':
		_, err := s.str()
		return err
	case '{':
		s.pos++
		for first := true; ; first = false {
			if _, ok, err := s.member(first); err != nil || !ok {
				return err
			}
			if err := s.skip(depth + 1); err != nil {
				return err
			}
		}
	case '[':
		s.pos++
		for first := true; ; first = false {
			if ok, err := s.element(first); err != nil || !ok {
				return err
			}
			if err := s.skip(depth + 1); err != nil {
				return err
			}
		}
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.skipNumber()
	}
}

func (s *scanner) literal(word string) error {
	if len(s.src)-s.pos < len(word) || s.src[s.pos:s.pos+len(word)] != word {
		return s.unexpected("a value")
	}
	s.pos += len(word)
	return nil
}

// skipNumber passes over: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (s *scanner) skipNumber() error {
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if s.digits() == 0 {
		return s.unexpected("a value")
	}
	if s.at('.') {
		s.pos++
		if s.digits() == 0 {
			return s.unexpected("a digit")
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if s.digits() == 0 {
			return s.unexpected("a digit")
		}
	}
	return nil
}

func (s *scanner) at(c byte) bool { return s.pos < len(s.src) && s.src[s.pos] == c }

// digits consumes decimal digits and says how many there were.
func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.src) && s.src[s.pos] >= '0' && s.src[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// unexpected names what the grammar asks for at the present byte. The byte
// itself is left out: it may be half of a character.
func (s *scanner) unexpected(want string) error {
	if s.pos >= len(s.src) {
		return reason("not JSON: the text ends where " + want + " should be")
	}
	return reason("not JSON: expected " + want + " at byte " + strconv.Itoa(s.pos))
}
