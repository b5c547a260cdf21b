package secrets

import "strings"

const (
	blockBegin = "-----BEGIN "
	blockEnd   = "-----END "
	dashes     = "-----"
)

// maxBlockName bounds what stands between BEGIN and the dashes.
const maxBlockName = 64

// minBlockRun is the least length of a line of base64 in a key block; the
// shortest keys have 64 characters.
const minBlockRun = 40

// keyBlock finds a private key in PEM or PGP armour. The lines alone, as code
// has them that looks for keys, are none.
func (s *scanner) keyBlock(at int) (Finding, bool) {
	rest := s.text[at:]
	if !strings.HasPrefix(rest, blockBegin) {
		return Finding{}, false
	}
	name, _, found := strings.Cut(rest[len(blockBegin):min(len(rest), len(blockBegin)+maxBlockName)], dashes)
	if !found || !strings.HasSuffix(name, "PRIVATE KEY") && !strings.HasSuffix(name, "PRIVATE KEY BLOCK") {
		return Finding{}, false
	}
	begin := at + len(blockBegin) + len(name) + len(dashes)
	end := s.blockEnd(begin, name)
	if end < 0 {
		end = s.cutOff(begin)
	}
	if !s.holdsKey(begin, end) {
		return Finding{}, false
	}
	return Finding{Kind: "private key block", Start: at, End: end}, true
}

// blockEnd returns where the END line of a block ends, or -1 if the block has
// none.
func (s *scanner) blockEnd(from int, name string) int {
	if s.noEnd {
		return -1
	}
	i := strings.Index(s.text[from:], dashes)
	if i < 0 {
		s.noEnd = true
		return -1
	}
	if rest := s.text[from+i:]; strings.HasPrefix(rest, blockEnd+name+dashes) {
		return from + i + len(blockEnd) + len(name) + len(dashes)
	}
	return -1
}

// cutOff returns where a block without an END line ends: after its last line of
// base64. Up to 8 headers may come first.
func (s *scanner) cutOff(from int) int {
	end, headers := from, 0
	for at := from; ; {
		for at < len(s.text) && strings.IndexByte(" \t\r\n\\", s.text[at]) >= 0 {
			if s.text[at] == '\\' {
				at++ // an escape such as \n in JSON
			}
			at++
		}
		stop := s.run(base64, min(at, len(s.text)))
		if stop <= at {
			return end
		}
		line := s.text[at:min(len(s.text), at+maxHeader)]
		name, _, _ := strings.Cut(line, ": ")
		size := strings.IndexByte(line, '\n')
		if headers < 8 && len(name) < size {
			headers++
			at += size
			continue
		}
		end, at = stop, stop
	}
}

// maxHeader bounds a header line of a key block, in bytes.
const maxHeader = 120

// holdsKey reports whether there is a line of base64 in a part of the text.
func (s *scanner) holdsKey(from, to int) bool {
	for at := from; at < to; {
		end := s.run(base64, at)
		if end-at >= minBlockRun && !placeholder(s.text[at:end]) {
			return true
		}
		at = end + 1
	}
	return false
}
