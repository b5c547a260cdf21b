package websocket

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"sync"
	"unicode/utf8"
)

// Opcodes and bits of RFC 6455 and RFC 7692 that a server sends.
const (
	opText, opClose, opPing, opPong = 1, 8, 9, 10

	bitFinal, bitCompressed = 0x80, 0x40
)

// compressFromBytes is the size of a payload from which compressing it is worth
// the work: below, the saving is in the tens of bytes.
const compressFromBytes = 512

// appendHeader appends the header of an unmasked, unfragmented frame.
func appendHeader(dst []byte, first byte, payload int) []byte {
	dst = append(dst, bitFinal|first)
	switch {
	case payload < 126:
		return append(dst, byte(payload))
	case payload <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, 126), uint16(payload))
	default:
		return binary.BigEndian.AppendUint64(append(dst, 127), uint64(payload))
	}
}

// closeFrame returns a close with a code and a text of at most 123 bytes.
func closeFrame(code int, text string) frame {
	const most = 123
	if len(text) > most {
		text = text[:most]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	payload := binary.BigEndian.AppendUint16(nil, uint16(code))
	return frame{op: opClose, head: append(payload, text...)}
}

// payload returns the number of bytes that the frame carries.
func (f *frame) payload() int {
	if f.body == nil {
		return len(f.head)
	}
	return len(f.head) + len(f.body) + 1
}

// deflater is one compressor and where its output goes.
type deflater struct {
	w   *flate.Writer
	out bytes.Buffer
}

// deflaters compress messages, each by itself ("no context takeover"): a
// compressor is needed only while a message is made, so that few serve all
// connections.
var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // the level is valid
	return &deflater{w: w}
}}

// tail ends every flushed block and is left out on the wire (RFC 7692, 7.2.1).
const deflateTailBytes = 4

// appendDeflated appends the whole frame with its payload compressed.
func appendDeflated(dst []byte, f *frame) []byte {
	c := deflaters.Get().(*deflater)
	defer deflaters.Put(c)
	c.out.Reset()
	c.w.Reset(&c.out)
	c.w.Write(f.head) // writing to a bytes.Buffer does not fail
	if f.body != nil {
		c.w.Write(f.body)
		c.w.Write([]byte{']'})
	}
	c.w.Flush()
	out := c.out.Bytes()
	out = out[:len(out)-deflateTailBytes]
	dst = appendHeader(dst, bitCompressed|f.op, len(out))
	dst = append(dst, out...)
	if c.out.Cap() > 1<<20 {
		c.out = bytes.Buffer{}
	}
	return dst
}
