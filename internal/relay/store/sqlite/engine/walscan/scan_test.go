package walscan

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

const page = 512 // a frame is 536 bytes

var live, before = [8]byte{1, 0, 0, 0, 9, 9, 9, 9}, [8]byte{0, 0, 0, 0, 7, 7, 7, 7}

// writing is a log that is written.
type writing struct {
	b   []byte
	l   log
	end []int // of each commit
}

func newLog(order binary.ByteOrder, salt [8]byte) *writing {
	w := &writing{l: log{order: order, page: page, salt: salt}}
	magic := uint32(magicLittle)
	if order == binary.ByteOrder(binary.BigEndian) {
		magic = magicBig
	}
	for _, n := range []uint32{magic, version, page, 0} {
		w.b = binary.BigEndian.AppendUint32(w.b, n)
	}
	w.b = append(w.b, salt[:]...)
	w.l.sum = sum{}.add(order, w.b)
	w.b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(w.b, w.l.sum[0]), w.l.sum[1])
	return w
}

// commit writes so many frames.
func (w *writing) commit(frames int) {
	for i := range frames {
		f := binary.BigEndian.AppendUint32(nil, uint32(i+1))
		size := uint32(0)
		if i == frames-1 {
			size = 40
		}
		f = append(binary.BigEndian.AppendUint32(f, size), w.l.salt[:]...)
		data := bytes.Repeat([]byte{byte(len(w.b)), byte(len(w.b) >> 8), byte(i)}, page)[:page]
		w.l.sum = w.l.sum.add(w.l.order, f[:8]).add(w.l.order, data)
		f = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(f, w.l.sum[0]), w.l.sum[1])
		w.b = append(append(w.b, f...), data...)
	}
	w.end = append(w.end, len(w.b))
}

// sample is a log of four commits, on what is left of a longer one.
func sample(order binary.ByteOrder) (log []byte, end []int) {
	old := newLog(order, before)
	for range 6 {
		old.commit(3)
	}
	w := newLog(order, live)
	for _, n := range []int{2, 3, 1, 4} {
		w.commit(n)
	}
	return append(w.b, old.b[len(w.b):]...), w.end
}

func scan(t *testing.T, b []byte) Report {
	t.Helper()
	r, err := Scan(bytes.NewReader(b), Hint{Salt: live, PageSize: page})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWholeLog(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b, _ := sample(order)
		if r := scan(t, b); r.Commits != 4 || r.Damaged || r.Salt != live {
			t.Errorf("%v: %+v", order, r)
		}
	}
	if r := scan(t, nil); r != (Report{}) {
		t.Errorf("an empty log: %+v", r)
	}
}

// A log that ends anywhere, and whatever of the last commit is not there, is torn.
func TestTornLog(t *testing.T) {
	b, end := sample(binary.LittleEndian)
	old := newLog(binary.LittleEndian, before)
	for range 8 {
		old.commit(3)
	}
	for size := range end[3] + 1 {
		want := 0
		for want < 4 && end[want] <= size {
			want++
		}
		if r := scan(t, b[:size]); r.Damaged || r.Commits != want {
			t.Fatalf("%d bytes: %+v, want %d commits", size, r, want)
		}
	}
	// Any sectors of the last commit are still those of the log before, with the
	// part of the one it shares.
	first, last := (end[2]+sector-1)/sector, end[3]/sector
	for kept := range 1 << (last - first + 1) {
		torn := slices.Clone(b[:end[3]])
		for i := range last - first + 1 {
			if from, to := (first+i)*sector, min((first+i+1)*sector, end[3]); kept>>i&1 == 0 {
				copy(torn[from:to], old.b[from:to])
			}
		}
		if r := scan(t, torn); r.Damaged || r.Commits < 3 {
			t.Fatalf("sectors %b: %+v", kept, r)
		}
	}
}

// A bit that flips in a commit behind which others were written is no tear.
func TestDamagedLog(t *testing.T) {
	b, end := sample(binary.LittleEndian)
	for at := range end[3] {
		if 4 <= at && at < 12 {
			continue // version, or the size of a page, which the hint has
		}
		for _, bit := range []byte{1, 0x80} {
			rotten := slices.Clone(b)
			rotten[at] ^= bit
			r := scan(t, rotten)
			frame := (at - headerSize) / (frameHeader + page)
			start := headerSize + frame*(frameHeader+page)
			inLast := at >= end[2]
			if inLast && at-start >= 4 && at-start < 8 {
				continue // it seems to end a commit, behind which another one lies: so it does to us
			}
			// What says that a frame ends a commit may be of the log before.
			unsure := at >= end[1] && slices.Contains(end, start+frameHeader+page) && (start+8)%sector == 0 && (at-start < 8 || at-start >= frameHeader)
			if inLast && r.Damaged || !inLast && !r.Damaged && !unsure {
				t.Fatalf("byte %d, bit %x: %+v", at, bit, r)
			}
			if r.Damaged && r.Commits+r.Lost < 3 {
				t.Fatalf("byte %d: %+v: commits are not told of", at, r)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b, end := sample(order)
		f.Add(b, 0, byte(0))
		f.Add(b[:end[2]], end[1]+40, byte(4))
	}
	f.Add([]byte{}, 0, byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at int, bit byte) {
		if len(b) > 1<<17 {
			return
		}
		b = slices.Clone(b)
		if at >= 0 && at < len(b) {
			b[at] ^= bit
		}
		r, err := Scan(bytes.NewReader(b), Hint{Salt: live, PageSize: page})
		if err != nil {
			t.Fatal(err)
		}
		if frames := len(b) / (frameHeader + 512); r.Commits+r.Lost > frames || r.Damaged && (r.Lost == 0 || r.At > int64(len(b))) {
			t.Errorf("%+v of %d bytes", r, len(b))
		}
	})
}
