package foreign

import (
	"fmt"
	"strings"

	"engramd/nips/nipae"
)

const (
	// maxValue is what a text may take of a body as JSON, with room for the slug
	// and for what is stamped and chained.
	maxValue = nipae.MaxBody - 1500
	maxPart  = maxValue - 4096
	maxParts = 64
)

// cost is at most what a text takes in a body, escapes included.
func cost(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\n', c == '\t', c == '\r', c == '"', c == '\\':
			n++
		case c < ' ' || c == 0x7f:
			n += 5
		}
	}
	return n
}

// split divides a text into parts of at most so much cost: before a heading, else
// at a blank line, else between two lines. It fails where a line alone is more.
func split(body string, most int) (parts []string, ok bool) {
	if cost(body) <= most {
		return []string{body}, true
	}
	// Where the part that is being made could end, best kind first, and its cost.
	start, at, used := 0, 0, 0
	var heading, blank int
	fence := fencing{}
	for line := range strings.Lines(body) {
		c := cost(line)
		if c > most {
			return nil, false
		}
		inside := fence.line(line)
		for used+c > most {
			end := at
			switch { // not before half of it is full, or there would be many parts
			case heading > start && cost(body[start:heading]) > most/2:
				end = heading
			case blank > start && cost(body[start:blank]) > most/2:
				end = blank
			}
			parts = append(parts, body[start:end])
			if len(parts) >= maxParts {
				return nil, false
			}
			start, used = end, cost(body[end:at])
		}
		if !inside && level(line) > 0 {
			heading = at
		}
		at += len(line)
		used += c
		if !inside && strings.TrimSpace(line) == "" {
			blank = at
		}
	}
	return append(parts, body[start:]), true
}

// partSlug is the slug of a part, counted from 0.
func partSlug(slug nipae.Slug, i int) nipae.Slug {
	if i == 0 {
		return slug
	}
	end := fmt.Sprintf("-part-%d", i+1)
	at := strings.LastIndexByte(string(slug), '/') + 1
	last := cut(string(slug[at:]), maxSegment-len(end))
	return slug[:at] + nipae.Slug(last+end)
}

// chained links a part to those before and behind it.
func chained(part string, slug nipae.Slug, i, of int) string {
	if i > 0 {
		part = fmt.Sprintf("Part %d of %d, behind [[%s]].\n\n", i+1, of, partSlug(slug, i-1)) + part
	}
	if i < of-1 {
		part = strings.TrimRight(part, "\n") + fmt.Sprintf("\n\nGoes on in [[%s]].\n", partSlug(slug, i+1))
	}
	return part
}
