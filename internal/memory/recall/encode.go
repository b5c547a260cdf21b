package recall

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

// The blob begins with magic and the version of its form, and ends with a
// checksum of all before.
const (
	magic   = "engr-rcl"
	version = 2
	// older is the version before words were divided as they are now: of parts of
	// identifiers, single characters and languages it knows nothing.
	older = 1
)

var (
	unitTypes  = []frontmatter.Type{frontmatter.Episodic, frontmatter.Semantic, frontmatter.Procedural, frontmatter.Insight, frontmatter.Prospective, frontmatter.Narrative}
	unitStates = []frontmatter.State{frontmatter.Active, frontmatter.Archived, frontmatter.Superseded, frontmatter.Done}
)

// What is true of a section or a document, in its byte of the blob.
const (
	bitTimely = 1 << iota
	bitAsks

	bitEmotion = 1
)

// Encode returns the index as one blob, which Decode reads. It tidies up first:
// nobody may read the index meanwhile.
func (x *Index) Encode() []byte {
	if len(x.sections) > x.live {
		x.repack()
	}
	e := encoder{out: []byte(magic)}
	e.number(version)
	e.number(uint64(len(x.docs)))
	for i := range x.docs {
		e.document(&x.docs[i], x.sections)
	}
	e.number(uint64(len(x.terms)))
	for _, t := range slices.Sorted(maps.Keys(x.terms)) {
		e.text(t)
		list := x.posts[x.terms[t]]
		e.number(uint64(len(list)))
		before := int32(0)
		for _, p := range list {
			e.number(uint64(p.section() - before))
			e.number(uint64(p & maxCount))
			before = p.section()
		}
	}
	return binary.LittleEndian.AppendUint32(e.out, crc32.ChecksumIEEE(e.out))
}

func (e *encoder) document(d *document, sections []section) {
	e.text(d.slug)
	e.number(uint64(d.to - d.from))
	for s := d.from; s < d.to; s++ {
		sec, bits := &sections[s], uint64(0)
		if sec.timely {
			bits |= bitTimely
		}
		if sec.asks {
			bits |= bitAsks
		}
		e.number(uint64(sec.words))
		e.number(bits)
		e.number(uint64(sec.lang))
	}
	e.signed(d.when)
	e.signed(d.created - d.when)
	e.number(uint64(max(0, slices.Index(unitTypes, d.typ))))
	e.number(uint64(max(0, slices.Index(unitStates, d.state))))
	e.number(uint64(d.trust))
	e.float(d.salience)
	if d.emotion == [8]float32{} {
		e.number(0)
	} else {
		e.number(bitEmotion)
		for _, v := range d.emotion {
			e.float(v)
		}
	}
	e.text(d.session)
	e.text(d.project)
	for _, list := range [][]string{d.tags, d.by, d.tagged} {
		e.text(strings.Join(list, "\x00"))
	}
	e.number(uint64(len(d.links)))
	for _, l := range d.links {
		e.text(l.target)
		e.float(l.strength)
		e.number(uint64(l.kind))
	}
}

// encoder writes numbers as varints and texts behind their length.
type encoder struct{ out []byte }

func (e *encoder) number(n uint64) { e.out = binary.AppendUvarint(e.out, n) }
func (e *encoder) signed(n int64)  { e.out = binary.AppendVarint(e.out, n) }
func (e *encoder) float(f float32) {
	e.out = binary.LittleEndian.AppendUint32(e.out, math.Float32bits(f))
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.out = append(e.out, s...)
}
