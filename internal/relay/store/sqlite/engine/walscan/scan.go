// Package walscan reads a write-ahead log of SQLite, to tell one that was torn
// by a loss of power from one that was damaged later. SQLite takes both for the
// end of the log at the first frame that is not whole, and what lies behind it,
// acknowledged or not, is gone.
package walscan

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// Report is what is in a log.
type Report struct {
	Commits int     // that SQLite would recover
	Salt    [8]byte // of the log in use
	Damaged bool    // commits that were durable are behind a frame that is not whole
	At      int64   // where that one begins
	Lost    int     // commits at or behind it
}

// Hint is what is known of a log whose header is not whole.
type Hint struct {
	Salt     [8]byte
	PageSize int
}

const (
	headerSize  = 32
	frameHeader = 24
	magicLittle = 0x377f0682 // sums over little-endian words
	magicBig    = 0x377f0683
	version     = 3007000
	sector      = 512 // what a disk writes whole or not at all
)

// log is how a log is read.
type log struct {
	order binary.ByteOrder // of the words that sums are over
	page  int
	salt  [8]byte
	sum   sum // stored in what was read last
}

// sum is SQLite's own, of everything from the header on.
type sum [2]uint32

func (s sum) add(order binary.ByteOrder, b []byte) sum {
	for ; len(b) >= 8; b = b[8:] {
		s[0] += order.Uint32(b) + s[1]
		s[1] += order.Uint32(b[4:]) + s[0]
	}
	return s
}

func stored(b []byte) sum { return sum{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])} }

// Scan reads a log to its end. It holds one page of it at a time.
//
// A frame that is not whole ends what SQLite recovers. It was torn if it belongs
// to a commit that never became durable. SQLite writes on only behind one that
// has: so where a commit ends at or behind that frame, and the next frame is of
// the same log and goes on from that commit's sum, the commit had been
// acknowledged, and the log was damaged since. Where that commit's own sum is what
// was damaged, the next frame goes on from the one that it should be. Frames of the
// log before, which lie behind the end of this one, have another salt.
func Scan(r io.Reader, hint Hint) (out Report, err error) {
	in := bufio.NewReaderSize(r, 1<<18)
	var head [headerSize]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return out, cut(err)
	}
	l, whole := begin(head[:], hint)
	if l.page <= 0 {
		return out, nil // nothing can be told
	}
	out.Salt = l.salt
	bad := !whole  // met what is not whole
	proof := false // the frame before may be the end of a commit
	ended := false // it is, if this one goes on from the sum that it should have
	var made sum   // that one
	frame := make([]byte, frameHeader+l.page)
	for at := int64(headerSize); ; at += int64(len(frame)) {
		if _, err := io.ReadFull(in, frame); err != nil {
			return out, cut(err)
		}
		live := [8]byte(frame[8:16]) == l.salt
		sums := l.continues(l.sum, frame) // which the salt is not in
		commit := (live || sums) && binary.BigEndian.Uint32(frame[4:]) != 0
		intact := live && sums
		if bad && live && (proof && sums || ended && l.continues(made, frame)) {
			out.Damaged = true
		}
		if !bad && !intact {
			bad, out.At = true, at
		}
		switch {
		case commit && bad:
			out.Lost++
		case commit:
			out.Commits++
		}
		// Half a frame's header may be of the log before, and seem to end a commit,
		// where a sector ends within it.
		proof = commit && (sums || (at+8)%sector != 0)
		ended, made = commit, l.over(l.sum, frame)
		l.sum = stored(frame[16:])
	}
}

// cut is the error of a log that ends: none where that is within a frame.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// begin reads the header. Where it is not whole the log is read by the hint.
func begin(head []byte, hint Hint) (l log, whole bool) {
	l = log{order: binary.LittleEndian, page: int(binary.BigEndian.Uint32(head[8:])), salt: [8]byte(head[16:24]), sum: stored(head[24:])}
	magic := binary.BigEndian.Uint32(head)
	if magic == magicBig {
		l.order = binary.BigEndian
	}
	power := l.page >= 512 && l.page <= 65536 && l.page&(l.page-1) == 0
	known := (magic == magicLittle || magic == magicBig) && binary.BigEndian.Uint32(head[4:]) == version
	if power && known && (sum{}).add(l.order, head[:24]) == l.sum {
		return l, true
	}
	if l.order = binary.LittleEndian; binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		l.order = binary.BigEndian
	}
	l.page = hint.PageSize
	if hint.Salt != ([8]byte{}) {
		l.salt = hint.Salt
	}
	return l, false
}

// continues reports whether a frame is whole and goes on from one with that sum.
func (l log) continues(from sum, frame []byte) bool {
	return binary.BigEndian.Uint32(frame) != 0 && l.over(from, frame) == stored(frame[16:])
}

// over is the sum that a frame behind one with that sum has to have.
func (l log) over(from sum, frame []byte) sum {
	return from.add(l.order, frame[:8]).add(l.order, frame[frameHeader:])
}
