package recall

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"unsafe"

	"engramd/nips/frontmatter"
)

const (
	// maxBlob is the largest blob that is read.
	maxBlob = 128 << 20
	// maxSectionWords is more than any section has: a body is at most maxBody.
	maxSectionWords = maxBody + 4<<10
	// leastDocument and leastTerm are bytes that one takes at least.
	leastDocument, leastTerm = 20, 4
)

// ErrBlob is a blob that is damaged or of another version: the index is made
// anew then.
var ErrBlob = errors.New("not an index of recall")

// Decode reads what Encode wrote. It takes no more memory than some multiple of
// the blob, whatever that says.
func Decode(blob []byte) (*Index, error) {
	x, err := decode(blob)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBlob, err)
	}
	return x, nil
}

func decode(blob []byte) (*Index, error) {
	const sum = 4
	if len(blob) > maxBlob || len(blob) < len(magic)+sum || string(blob[:len(magic)]) != magic {
		return nil, errors.New("it does not begin like one, or is too long")
	}
	body := blob[:len(blob)-sum]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(blob[len(body):]) {
		return nil, errors.New("the checksum is wrong")
	}
	d := decoder{in: string(body[len(magic):])} // a copy, of which the texts of the index are parts
	if v := d.number(math.MaxInt32); d.err == nil && v != version {
		return nil, fmt.Errorf("version %d, and only %d is read", v, version)
	}
	x := New()
	n := d.count(maxPlaces)
	room := min(n, len(d.in)/leastDocument)
	x.docs, x.sections = make([]document, 0, room), make([]section, 0, room)
	x.bySlug, x.groups.byName = make(map[string]int32, room), make(map[string]int32, room)
	for range n {
		d.document(x)
	}
	n = d.count(math.MaxInt32)
	room, x.packedOf = min(n, len(d.in)/leastTerm), len(x.sections)
	x.terms, x.posts, x.packed = make(map[string]int32, room), make([][]posting, 0, room), make([]packed, 0, room)
	for before := ""; n > 0 && d.err == nil; n-- {
		before = d.term(x, before)
	}
	if d.err == nil && len(d.in) > 0 {
		d.fail("something follows the end")
	}
	if d.err != nil {
		return nil, d.err
	}
	restore(x)
	return x, nil
}

func (d *decoder) document(x *Index) {
	doc := document{slug: d.text(), from: int32(len(x.sections))}
	id := int32(len(x.docs))
	n := d.count(maxSections)
	if doc.slug == "" || n == 0 || x.Has(doc.slug) || len(x.sections)+n > maxPlaces {
		d.fail("a document without a slug of its own or without sections")
	}
	if d.err != nil {
		return
	}
	for range n {
		sec := section{doc: id, words: int32(d.number(maxSectionWords)), prev: -1, next: -1}
		bits := d.number(bitTimely | bitAsks)
		sec.timely, sec.asks = bits&bitTimely != 0, bits&bitAsks != 0
		sec.lang = language(d.number(uint64(len(languages) - 1)))
		x.sections = append(x.sections, sec)
	}
	doc.to = int32(len(x.sections))
	doc.when = d.signed()
	doc.created = doc.when + d.signed()
	doc.typ = unitTypes[d.number(uint64(len(unitTypes)-1))]
	doc.state = unitStates[d.number(uint64(len(unitStates)-1))]
	doc.trust = frontmatter.Trust(d.number(uint64(frontmatter.Told)))
	doc.salience = d.float()
	if d.number(bitEmotion) == bitEmotion {
		for i := range doc.emotion {
			doc.emotion[i] = d.float()
		}
	}
	doc.session, doc.project = d.text(), d.text()
	for _, list := range []*[]string{&doc.tags, &doc.by, &doc.tagged} {
		if s := d.text(); s != "" {
			*list = strings.Split(s, "\x00")
		}
	}
	for range d.count(maxLinks) {
		doc.links = append(doc.links, edge{d.text(), d.float(), relation(d.number(uint64(contradicts)))})
	}
	doc.vectors = d.vectors(n)
	x.docs = append(x.docs, doc)
	x.bySlug[doc.slug] = id
}

// vectors reads those of a document's sections.
func (d *decoder) vectors(sections int) []int8 {
	n := d.count(sections) * VectorDim
	if n > len(d.in) {
		d.fail("a vector is cut")
	}
	if d.err != nil || n == 0 {
		return nil
	}
	all := unsafe.Slice((*int8)(unsafe.Pointer(unsafe.StringData(d.in))), n) // nobody changes them
	d.in = d.in[n:]
	return all
}

// term reads a term and leaves its postings packed. Terms ascend.
func (d *decoder) term(x *Index, before string) string {
	t, list := d.text(), d.text()
	n, size := uvarint(list)
	if t <= before || size <= 0 || n == 0 || n > uint64(min(len(x.sections), (len(list)-size)/2)) {
		d.fail("terms are not in order, or have no postings")
	}
	if d.err == nil {
		x.terms[t] = int32(len(x.posts))
		x.posts, x.packed = append(x.posts, nil), append(x.packed, packed{list: list})
	}
	return t
}

// restore makes what is not in the blob: groups, their order, and people.
func restore(x *Index) {
	for id := range x.docs {
		doc := &x.docs[id]
		doc.group = x.groups.take(groupName(*doc))
		x.count(int32(id), 1)
	}
	own := make([]int32, len(x.sections))
	for i := range own {
		own[i] = int32(i)
	}
	var order []int32
	for id := range x.docs {
		doc := &x.docs[id]
		g := &x.groups.all[doc.group]
		if g.docs > 1 {
			order = append(order, int32(id))
			continue
		}
		g.sections = own[doc.from:doc.to:doc.to]
		for s := doc.from + 1; s < doc.to; s++ {
			x.join(s-1, s)
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return before(&x.docs[a], &x.docs[b]) })
	for _, id := range order { // each comes last in its group
		x.arrange(id)
	}
}

// decoder reads what encoder writes, and nothing after the first fault.
type decoder struct {
	in  string
	err error
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = errors.New(why)
	}
	d.in = ""
}

// number reads a number that is at most that.
func (d *decoder) number(most uint64) uint64 {
	n, size := uvarint(d.in)
	if size <= 0 || n > most {
		d.fail("a number is cut or too large")
		return 0
	}
	d.in = d.in[size:]
	return n
}

// count reads how many things follow, each of which takes a byte at least.
func (d *decoder) count(most int) int {
	n := d.number(uint64(most))
	if n > uint64(len(d.in)) {
		d.fail("more is announced than there is")
		return 0
	}
	return int(n)
}

func (d *decoder) signed() int64 {
	n, size := uvarint(d.in)
	if size <= 0 {
		d.fail("a time is cut")
		return 0
	}
	d.in = d.in[size:]
	return int64(n>>1) ^ -int64(n&1)
}

// float reads a share, 0 to 1.
func (d *decoder) float() float32 {
	if len(d.in) < 4 {
		d.fail("a share is cut")
		return 0
	}
	f := math.Float32frombits(uint32(d.in[0]) | uint32(d.in[1])<<8 | uint32(d.in[2])<<16 | uint32(d.in[3])<<24)
	if d.in = d.in[4:]; !(f >= 0 && f <= 1) {
		d.fail("a share is not from 0 to 1")
	}
	return f
}

func (d *decoder) text() string {
	n := d.count(maxBlob)
	s := d.in[:n]
	d.in = d.in[n:]
	return s
}
