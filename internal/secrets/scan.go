package secrets

import "strings"

// Find returns what looks like a secret in text: in order, without overlaps.
func Find(text string) []Finding {
	s := scanner{text: text}
	return s.all()
}

// all goes through the text.
func (s *scanner) all() []Finding {
	s.index()
	for at := 0; at < len(s.text); {
		if f, ok := s.find(at); ok {
			s.found = append(s.found, f)
			at = f.End
			continue
		}
		at++
	}
	return s.found
}

// scanner goes through a text once. Everything it does at one position is
// bounded, or remembered so that it is not done again: that is what keeps it
// linear.
type scanner struct {
	text  string
	found []Finding
	byte1 [257]uint8 // shapes[byte1[b]:byte1[b+1]] begin with b
	runs  [setCount]span
	noEnd bool // there is no END line of a key block in the rest

	wordsEnd int          // where the run of list words ends that was looked at last
	phrases  [][]listWord // those in it that are not reached yet
	inside   bool         // the text was written in base64 in another
	flagEnd  int          // where the flag ends whose tags were looked at last
}

// span is where a run of bytes begins and ends.
type span struct{ start, end int }

// index finds the shapes by their first byte: they are sorted by prefix.
func (s *scanner) index() {
	n, shapes := 0, shapes()
	for b := range 256 {
		s.byte1[b] = uint8(n)
		for n < len(shapes) && shapes[n].prefix[0] == byte(b) {
			n++
		}
	}
	s.byte1[256] = uint8(n)
}

// find looks for a secret that begins at a position.
func (s *scanner) find(at int) (Finding, bool) {
	c := s.text[at]
	switch c {
	case '-':
		return s.keyBlock(at)
	case tagLead:
		return s.tags(at)
	}
	if !alnum.has(c) || at > 0 && alnum.has(s.text[at-1]) && !escaped(s.text, at) {
		return Finding{}, false
	}
	for _, sh := range shapes()[s.byte1[c]:s.byte1[int(c)+1]] {
		if f, ok := s.shaped(at, sh); ok {
			return f, true
		}
	}
	for _, special := range []func(*scanner, int) (Finding, bool){
		(*scanner).hexKey, (*scanner).webToken, (*scanner).botToken, (*scanner).azureSecret, (*scanner).walletKey, (*scanner).natsSeed,
		(*scanner).awsSecret, (*scanner).bunker, (*scanner).brokenKey, (*scanner).reversedKey, (*scanner).groupedHex, (*scanner).addressPassword,
		(*scanner).saidPassword, (*scanner).phrase, (*scanner).encoded,
	} {
		if f, ok := special(s, at); ok {
			return f, true
		}
	}
	return Finding{}, false
}

// escaped reports whether the letter before a position belongs to an escape
// such as \n in JSON or code.
func escaped(text string, at int) bool {
	return at > 1 && text[at-2] == '\\' && strings.IndexByte("nrt", text[at-1]) >= 0
}

// run returns where the bytes of a set end that begin at from.
func (s *scanner) run(of set, from int) int {
	known := &s.runs[of]
	if known.start <= from && from < known.end {
		return known.end
	}
	end := from
	for end < len(s.text) && of.has(s.text[end]) {
		end++
		if end == known.start && known.end > known.start {
			end = known.end
		}
	}
	if end > from {
		*known = span{from, end}
	}
	return end
}

// shaped tries one shape at a position.
func (s *scanner) shaped(at int, sh shape) (Finding, bool) {
	if !strings.HasPrefix(s.text[at:], sh.prefix) {
		return Finding{}, false
	}
	from := at + len(sh.prefix)
	end := s.run(sh.body, from)
	for range 8 { // punctuation behind it; no value ends with more
		if end > from && strings.IndexByte(".-_", s.text[end-1]) >= 0 {
			end--
		}
	}
	size := end - from
	if size < sh.min || sh.max > 0 && size > sh.max || sh.max > 0 && end < len(s.text) && alnum.has(s.text[end]) {
		return Finding{}, false
	}
	body := s.text[from:end]
	if placeholder(body) || sh.solid && !solid(body) {
		return Finding{}, false
	}
	return Finding{Kind: sh.kind, Start: at, End: end}, true
}

// looked is how much of a value is looked at to tell whether it is one.
const looked = 128

// placeholder reports whether a value is made up: of few different characters,
// or with a word in it that says so.
func placeholder(body string) bool {
	body = strings.ToLower(body[:min(len(body), looked)])
	return distinct(body) < min(7, len(body)/2) || strings.Contains(body, "example") || strings.Contains(body, "xxxx")
}

func distinct(text string) (n int) {
	var seen [256]bool
	for i := range len(text) {
		if !seen[text[i]] {
			seen[text[i]] = true
			n++
		}
	}
	return n
}

// solid reports whether a value holds 20 letters and digits in a row, some of
// each: words with hyphens between them do not.
func solid(body string) bool {
	size, digits, letters := 0, 0, 0
	for i := range min(len(body), looked) {
		switch c := body[i]; {
		case digit.has(c):
			digits++
		case alnum.has(c):
			letters++
		default:
			size, digits, letters = -1, 0, 0
		}
		size++
		if size >= 20 && digits > 1 && letters > 1 {
			return true
		}
	}
	return false
}
