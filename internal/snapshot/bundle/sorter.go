package bundle

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
)

const (
	sortBytes      = 8 << 20  // bytes that a sorter holds before it writes a run
	keepBytes      = 1 << 20  // bytes that may stay in memory when all is there
	runBufferBytes = 32 << 10 // read buffer of one run while merging
)

// sorter sorts the lines of one artifact by their keys in bounded memory: what
// does not fit is written as sorted runs to a file, which each merges.
type sorter struct {
	spool string // file, created when needed
	f     *os.File
	runs  []span
	end   int64 // of the file

	arena []byte
	items []span // key length, key and line in arena
	last  bool   // no more lines will come
}

type span struct{ off, len int64 }

// add copies a line, without line feed, and its key.
func (s *sorter) add(key, line []byte) error {
	if size := len(key) + len(line) + 8; len(s.arena) > 0 && len(s.arena)+size > sortBytes {
		if err := s.flush(); err != nil {
			return err
		}
	}
	start := len(s.arena)
	s.arena = binary.BigEndian.AppendUint32(s.arena, uint32(len(key)))
	s.arena = append(append(s.arena, key...), line...)
	s.items = append(s.items, span{int64(start), int64(len(s.arena) - start)})
	return nil
}

// finish ends the input.
func (s *sorter) finish() error {
	s.last = true
	if len(s.runs) > 0 || len(s.arena) > keepBytes {
		return s.flush()
	}
	s.sortItems()
	return nil
}

func (s *sorter) item(sp span) (key, line []byte) {
	b := s.arena[sp.off : sp.off+sp.len]
	n := 4 + binary.BigEndian.Uint32(b)
	return b[4:n], b[n:]
}

func (s *sorter) sortItems() {
	slices.SortFunc(s.items, func(a, b span) int {
		ka, _ := s.item(a)
		kb, _ := s.item(b)
		return bytes.Compare(ka, kb)
	})
}

// flush writes what is in memory as one run.
func (s *sorter) flush() error {
	if len(s.items) == 0 {
		return nil
	}
	if s.f == nil {
		f, err := os.OpenFile(s.spool, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		s.f = f
	}
	s.sortItems()
	w := bufio.NewWriterSize(io.NewOffsetWriter(s.f, s.end), 256<<10)
	for _, sp := range s.items {
		w.Write(binary.BigEndian.AppendUint32(nil, uint32(sp.len)))
		w.Write(s.arena[sp.off : sp.off+sp.len])
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	size := int64(len(s.arena) + 4*len(s.items))
	s.runs = append(s.runs, span{s.end, size})
	s.end += size
	s.arena, s.items = s.arena[:0], s.items[:0]
	if s.last {
		s.arena, s.items = nil, nil
	}
	return nil
}

// each gives fn the lines in order, those with equal keys once. It may be
// called again. fn must not keep the line.
func (s *sorter) each(fn func(line []byte) error) error {
	var previous []byte
	first := true
	give := func(key, line []byte) error {
		if !first && bytes.Equal(key, previous) {
			return nil
		}
		first, previous = false, append(previous[:0], key...)
		return fn(line)
	}
	if s.f == nil {
		for _, sp := range s.items {
			if err := give(s.item(sp)); err != nil {
				return err
			}
		}
		return nil
	}
	m := make(merge, 0, len(s.runs))
	for _, run := range s.runs {
		r := &runReader{r: bufio.NewReaderSize(io.NewSectionReader(s.f, run.off, run.len), runBufferBytes)}
		if err := r.next(); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		m = append(m, r)
	}
	heap.Init(&m)
	for len(m) > 0 {
		if err := give(m[0].key, m[0].line); err != nil {
			return err
		}
		switch err := m[0].next(); err {
		case nil:
			heap.Fix(&m, 0)
		case io.EOF:
			heap.Pop(&m)
		default:
			return fmt.Errorf("spool: %w", err)
		}
	}
	return nil
}

// close removes the file.
func (s *sorter) close() {
	if s.f != nil {
		s.f.Close()
		os.Remove(s.spool)
		s.f = nil
	}
}

// runReader reads one run, one item at a time.
type runReader struct {
	r         *bufio.Reader
	buf       []byte
	key, line []byte
}

func (r *runReader) next() error {
	var head [4]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return err // io.EOF at the end of the run
	}
	r.buf = slices.Grow(r.buf[:0], int(binary.BigEndian.Uint32(head[:])))[:binary.BigEndian.Uint32(head[:])]
	if _, err := io.ReadFull(r.r, r.buf); err != nil {
		return io.ErrUnexpectedEOF
	}
	n := 4 + binary.BigEndian.Uint32(r.buf)
	r.key, r.line = r.buf[4:n], r.buf[n:]
	return nil
}

// merge is a heap of runs by their current keys.
type merge []*runReader

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return bytes.Compare(m[i].key, m[j].key) < 0 }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)        { *m = append(*m, x.(*runReader)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
