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
	version = 4
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
		e.text(x.pack(x.terms[t]))
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
	e.number(uint64(len(d.vectors) / VectorDim))
	for _, v := range d.vectors {
		e.out = append(e.out, byte(v))
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

const (
	// maxChain is how many documents of a chain of corrections are looked at, and
	// maxSteps how many edges.
	maxChain = 32
	maxSteps = 256
)

// outranks reports whether a document may take the place of another one: it has at
// least its trust, or it was derived from what was observed, later than that.
func (x *documents) outranks(by, old *document) bool {
	if by.trust >= old.trust || by.trust != frontmatter.Derived || old.trust != frontmatter.Observed {
		return by.trust >= old.trust
	}
	later := false
	for _, l := range by.links {
		if l.kind != derivedFrom {
			continue
		}
		id, ok := x.bySlug[l.target]
		if !ok || x.docs[id].trust < frontmatter.Observed {
			return false
		}
		later = later || x.docs[id].when > old.when
	}
	return later
}

// corrected returns the documents in whose place one stands, also through others.
func (x *documents) corrected(id int32) []int32 {
	var all []int32
	steps := 0
	for next := []int32{id}; len(next) > 0 && len(all) < maxChain; next = next[1:] {
		doc := &x.docs[next[0]]
		for _, l := range doc.links {
			if l.kind != supersedes {
				continue
			}
			if steps++; steps > maxSteps {
				return all
			}
			to, ok := x.bySlug[l.target]
			if !ok || to == id || slices.Contains(all, to) {
				continue
			}
			if x.outranks(doc, &x.docs[to]) {
				all, next = append(all, to), append(next, to)
			}
		}
	}
	return all
}

// newest returns the ends of the chains of what superseded some documents: those
// that are active, else the last ones.
func (t *Truth) newest(of []int32) []int32 {
	seen := slices.Clone(of)
	var active, last []int32
	for next := slices.Clone(of); len(next) > 0 && len(seen) < maxChain; next = next[1:] {
		for _, id := range t.by[next[0]] {
			switch {
			case slices.Contains(seen, id):
				continue
			case t.docs[id].state == frontmatter.Active:
				active = append(active, id)
			case t.by[id] == nil:
				last = append(last, id)
			default:
				next = append(next, id)
			}
			seen = append(seen, id)
		}
	}
	if len(active) == 0 {
		active = last
	}
	if len(active) == 0 { // a ring
		for _, id := range of {
			active = append(active, t.by[id]...)
		}
	}
	slices.SortFunc(active, t.weightier)
	active = slices.Compact(active)
	return active[:min(len(active), maxBeside)]
}
