package load

import (
	"encoding/binary"
	"fmt"
)

// Opcodes of RFC 6455, section 5.2.
const (
	opContinuation = 0
	opText         = 1
	opClose        = 8
	opPing         = 9
	opPong         = 10
)

// appendFrame appends a masked frame of a client, complete as it goes over the
// network. Masked frames can be kept and sent later with SendFrames.
func appendFrame(dst []byte, op byte, payload []byte, mask [4]byte) []byte {
	dst = append(dst, 0x80|op)
	switch n := len(payload); {
	case n < 126:
		dst = append(dst, 0x80|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, 0x80|126), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, 0x80|127), uint64(n))
	}
	dst = append(dst, mask[:]...)
	at := len(dst)
	dst = append(dst, payload...)
	for i := range dst[at:] {
		dst[at+i] ^= mask[i&3]
	}
	return dst
}

// Send masks the messages and sends them in one write.
func (c *Conn) Send(messages ...[]byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.out = c.out[:0]
	for _, m := range messages {
		var mask [4]byte
		if _, err := c.rand.Read(mask[:]); err != nil {
			return fmt.Errorf("mask: %w", err)
		}
		c.out = appendFrame(c.out, opText, m, mask)
	}
	return c.write(c.out)
}

// SendFrames sends what appendFrame made: any number of whole frames.
func (c *Conn) SendFrames(frames []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.write(frames)
}

func (c *Conn) write(b []byte) error {
	if _, err := c.net.Write(b); err != nil {
		return c.failure("send", err)
	}
	return nil
}

// Read returns the next text message. It is valid until the next call. Pings
// are answered. The errors are ErrClosed, ErrProtocol, and what ended the
// connection's context.
func (c *Conn) Read() ([]byte, error) {
	c.message = c.message[:0]
	for joining := false; ; {
		final, op, payload, err := c.frame()
		if err != nil {
			return nil, err
		}
		switch {
		case op >= opClose:
			if err := c.control(op, payload); err != nil {
				return nil, err
			}
			continue
		case joining != (op == opContinuation), op != opText && op != opContinuation:
			return nil, fmt.Errorf("%w: a frame of type %d in the wrong place", ErrProtocol, op)
		case final && !joining:
			return payload, nil
		}
		if len(c.message)+len(payload) > MaxMessage {
			return nil, fmt.Errorf("%w: a message of more than %d bytes", ErrProtocol, MaxMessage)
		}
		c.message = append(c.message, payload...)
		if final {
			return c.message, nil
		}
		joining = true
	}
}

// frame reads one frame. The payload lies in the buffer until the next call.
func (c *Conn) frame() (final bool, op byte, payload []byte, err error) {
	if err := c.fill(2); err != nil {
		return false, 0, nil, err
	}
	first, second := c.buf[c.start], c.buf[c.start+1]
	if first&0x70 != 0 || second&0x80 != 0 {
		return false, 0, nil, fmt.Errorf("%w: a frame of an extension, or masked", ErrProtocol)
	}
	final, op = first&0x80 != 0, first&0x0F
	header, size := 2, uint64(second)
	switch size {
	case 126:
		header = 4
	case 127:
		header = 10
	}
	if err := c.fill(header); err != nil {
		return false, 0, nil, err
	}
	switch header {
	case 4:
		size = uint64(binary.BigEndian.Uint16(c.buf[c.start+2:]))
	case 10:
		size = binary.BigEndian.Uint64(c.buf[c.start+2:])
	}
	if size > MaxMessage || op >= opClose && (size > 125 || !final) {
		return false, 0, nil, fmt.Errorf("%w: a frame of type %d and %d bytes", ErrProtocol, op, size)
	}
	if err := c.fill(header + int(size)); err != nil {
		return false, 0, nil, err
	}
	payload = c.buf[c.start+header : c.start+header+int(size)]
	c.start += header + int(size)
	return final, op, payload, nil
}

// fill reads until n bytes are in the buffer, which grows if it must.
func (c *Conn) fill(n int) error {
	if c.end-c.start >= n {
		return nil
	}
	if c.start+n > len(c.buf) || c.start == c.end {
		to := c.buf
		if n > len(to) {
			to = make([]byte, max(n, 2*len(to)))
		}
		c.end = copy(to, c.buf[c.start:c.end])
		c.start, c.buf = 0, to
	}
	for c.end-c.start < n {
		got, err := c.net.Read(c.buf[c.end:])
		c.end += got
		if err != nil && c.end-c.start < n {
			return c.failure("receive", err)
		}
	}
	return nil
}

// control handles a frame that is about the connection.
func (c *Conn) control(op byte, payload []byte) error {
	switch op {
	case opPong:
		return nil
	case opPing:
		c.writing.Lock()
		defer c.writing.Unlock()
		c.out = appendFrame(c.out[:0], opPong, payload, [4]byte{1, 2, 3, 4})
		return c.write(c.out)
	case opClose:
		if len(payload) < 2 {
			return fmt.Errorf("%w: by the relay", ErrClosed)
		}
		return fmt.Errorf("%w: by the relay: %d %s", ErrClosed, binary.BigEndian.Uint16(payload), printable(payload[2:]))
	}
	return fmt.Errorf("%w: a frame of type %d", ErrProtocol, op)
}
