package load

import "bytes"

// scan walks over JSON without building anything. It takes the grammar for
// granted where it only skips: what it returns is compared with what is
// expected, so that a text which is no JSON can at most be refused later.
type scan struct {
	b    []byte
	pos  int
	skim bool // stop in an event when what is needed is found
}

// message reads a whole message of a relay.
func (s *scan) message() (m Message, ok bool) {
	if !s.take('[') {
		return m, false
	}
	label, ok := s.str()
	if !ok {
		return m, false
	}
	switch string(label) {
	case "EVENT":
		m.Label, ok = LabelEvent, s.next(&m.Sub) && s.take(',') && s.event(&m)
	case "OK":
		m.Label, ok = LabelOK, s.next(&m.ID) && s.take(',') && s.boolean(&m.OK) && s.rest(&m)
	case "EOSE":
		m.Label, ok = LabelEOSE, s.next(&m.Sub)
	case "CLOSED":
		m.Label, ok = LabelClosed, s.next(&m.Sub) && s.rest(&m)
	case "COUNT":
		m.Label, ok = LabelCount, s.next(&m.Sub) && s.take(',') && s.count(&m)
	case "AUTH", "NOTICE":
		if m.Label = LabelNotice; label[0] == 'A' {
			m.Label = LabelAuth
		}
		ok = s.rest(&m)
	}
	return m, ok && s.end()
}

// end skips further elements, which later NIPs may add, and the bracket.
func (s *scan) end() bool {
	for s.take(',') {
		if !s.skip() {
			return false
		}
	}
	return s.take(']') && s.peek() == 0 && s.pos == len(s.b)
}

// next reads a comma and a string.
func (s *scan) next(to *[]byte) (ok bool) {
	if !s.take(',') {
		return false
	}
	*to, ok = s.str()
	return ok
}

// rest reads a comma and a string with its quotes, if there is one.
func (s *scan) rest(m *Message) bool {
	if !s.take(',') {
		return true
	}
	s.peek()
	start := s.pos
	_, ok := s.str()
	m.Text = s.b[start:s.pos]
	return ok
}

// event reads an event for its id and created_at, and skips to its end, or, if
// it only skims, to the end of the message.
func (s *scan) event(m *Message) bool {
	s.peek()
	start, timed, skimmed := s.pos, false, false
	ok := s.members(func(name []byte) (ok bool) {
		switch string(name) {
		case "id":
			m.ID, ok = s.str()
		case "created_at":
			m.CreatedAt, ok = s.integer()
			timed = ok
		default:
			ok = s.skip()
		}
		skimmed = ok && s.skim && timed && m.ID != nil
		return ok && !skimmed
	})
	if skimmed {
		// The members that follow are not looked at, but the message must be whole.
		s.pos = bytes.LastIndexByte(s.b, ']')
		return len(m.ID) == 64 && s.pos >= 0
	}
	m.Event = s.b[start:s.pos]
	return ok && len(m.ID) == 64
}

func (s *scan) count(m *Message) bool {
	found := false
	ok := s.members(func(name []byte) (ok bool) {
		if string(name) != "count" {
			return s.skip()
		}
		found = true
		m.Count, ok = s.integer()
		return ok
	})
	return ok && found
}

// members calls f at the value of each member of an object.
func (s *scan) members(f func(name []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		name, ok := s.str()
		if !ok || !s.take(':') || !f(name) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// peek skips white space and returns the byte there; 0 at the end.
func (s *scan) peek() byte {
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scan) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.pos++
	return true
}

// str returns what stands between the quotes.
func (s *scan) str() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start := s.pos
	for {
		i := bytes.IndexByte(s.b[s.pos:], '"')
		if i < 0 {
			return nil, false
		}
		s.pos += i + 1
		// A quote ends the string unless an odd number of backslashes precedes it.
		escapes := 0
		for at := s.pos - 2; at >= start && s.b[at] == '\\'; at-- {
			escapes++
		}
		if escapes%2 == 0 {
			return s.b[start : s.pos-1], true
		}
	}
}

func (s *scan) integer() (n int64, ok bool) {
	s.peek()
	start := s.pos
	for s.pos < len(s.b) && s.b[s.pos] >= '0' && s.b[s.pos] <= '9' && s.pos-start < 18 {
		n = n*10 + int64(s.b[s.pos]-'0')
		s.pos++
	}
	return n, s.pos > start
}

func (s *scan) boolean(to *bool) bool {
	s.peek()
	switch left := s.b[s.pos:]; {
	case bytes.HasPrefix(left, []byte("true")):
		*to = true
		s.pos += len("true")
	case bytes.HasPrefix(left, []byte("false")):
		*to = false
		s.pos += len("false")
	default:
		return false
	}
	return true
}

// skip skips a value of any type.
func (s *scan) skip() bool {
	depth := 0
	for {
		switch s.peek() {
		case '"':
			if _, ok := s.str(); !ok {
				return false
			}
		case '[', '{':
			depth++
			s.pos++
			continue
		case ']', '}':
			if depth == 0 {
				return false
			}
			depth--
			s.pos++
		case ',', ':':
			if depth == 0 {
				return false
			}
			s.pos++
			continue
		case 0:
			return false
		default: // number, true, false, null
			for s.pos < len(s.b) && !delimits(s.b[s.pos]) {
				s.pos++
			}
		}
		if depth == 0 {
			return true
		}
	}
}

// delimits reports whether a number or a literal cannot go on with c.
func delimits(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', ']', '}', '[', '{', '"':
		return true
	}
	return false
}
