package recall

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// sealed gives bytes their checksum.
func sealed(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b[:len(b):len(b)], crc32.ChecksumIEEE(b))
}

func sample(t testing.TB) []byte {
	r := rand.New(rand.NewPCG(3, 3))
	x := indexOf(t, memory("mem/people/ana", "---\nemotion: {joy: 1}\nsupersedes: mem/x\nwho: [Ana, Bo]\n---\nboat? yesterday"))
	for range 20 {
		if err := x.Put(random(r)); err != nil {
			t.Fatal(err)
		}
	}
	return x.Encode()
}

// A blob that is cut, changed anywhere or of another version is an error, so that
// the index is made anew.
func TestDecodeRefuses(t *testing.T) {
	blob := sample(t)
	if _, err := Decode(blob); err != nil {
		t.Fatal(err)
	}
	for i := range blob {
		spoilt := append([]byte{}, blob...)
		spoilt[i] ^= 0x10
		if _, err := Decode(spoilt); !errors.Is(err, ErrBlob) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if _, err := Decode(blob[:i]); !errors.Is(err, ErrBlob) {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if _, err := Decode(sealed(blob[:i])); i != len(blob)-4 && !errors.Is(err, ErrBlob) {
			t.Fatalf("cut at %d and sealed: %v", i, err)
		}
	}
	body := blob[:len(blob)-4]
	for name, b := range map[string][]byte{
		"nothing":         nil,
		"another version": append(append([]byte(magic), version+1), body[len(magic)+1:]...),
		"more at the end": append(body[:len(body):len(body)], 0),
		"no language":     append([]byte(magic), version, 3, 'x', 'x', 'x', 0, 0),
		"many announced":  append([]byte(magic), version, 7, 'e', 'n', 'g', 'l', 'i', 's', 'h', 0xff, 0xff, 0xff, 0x07),
	} {
		if _, err := Decode(sealed(b)); !errors.Is(err, ErrBlob) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecode: whatever a blob holds, what it becomes can be searched, changed and
// written, or it is refused.
func FuzzDecode(f *testing.F) {
	blob := sample(f)
	f.Add(blob[:len(blob)-4])
	f.Add(indexOf(f).Encode())
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := Decode(sealed(body))
		if err != nil {
			return
		}
		x.Rank(Query{Text: "When did Ana see the boat in May 2023?", Now: now}, Recipe(), 10)
		x.CopiedFrom("boat", library{}.texts)
		if err := x.Put(memory("mem/people/ana", "boat")); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(x.Encode())
		if err != nil {
			t.Fatal(err)
		}
		for slug := range again.bySlug {
			again.Remove(slug)
		}
		if n, parts := again.Len(); n+parts != 0 {
			t.Fatalf("%d documents and %d sections are left", n, parts)
		}
	})
}
