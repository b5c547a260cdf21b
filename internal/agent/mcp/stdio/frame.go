package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"engramd/internal/platform/pattern"
)

// frame is a line, or what stands behind a header as language servers have it: some
// clients write so.
type frame struct {
	body   []byte
	header bool
	long   bool            // longer than MaxMessage: read over
	id     json.RawMessage // of a long one, where it could be seen
	err    error           // the input ended
}

// ends is how much of either end is kept of a long message, to find its id.
const ends = 4 << 10

// headerLine begins a message behind a header.
var headerLine = pattern.Later(`(?i)^content-length:[ \t]*([0-9]{1,18})[ \t]*\r?\n?$`)

// maxHeaders is how many lines a header may have.
const maxHeaders = 16

var bom = []byte("\xef\xbb\xbf")

// nextFrame reads one. A last line without an end is one too.
func nextFrame(in *bufio.Reader) (f frame) {
	f.readLine(in)
	f.body = bytes.TrimPrefix(f.body, bom)
	header := headerLine().FindSubmatch(f.body)
	if f.long || f.err != nil || header == nil {
		return f
	}
	size, _ := strconv.ParseInt(string(header[1]), 10, 64) // up to 18 digits
	for range maxHeaders {
		f.body = nil
		f.readLine(in)
		line := bytes.TrimSpace(f.body)
		if f.err == nil && (f.long || bytes.HasPrefix(line, []byte("{")) || bytes.HasPrefix(line, []byte("["))) {
			return f // a message: the line before began none
		}
		if f.err != nil || len(line) == 0 {
			break
		}
	}
	f.body, f.header = nil, true
	if f.err == nil {
		f.readSize(in, size)
	}
	return f
}

// add keeps what was read, of a long message its ends.
func (f *frame) add(part []byte) {
	f.body = append(f.body, part...)
	if len(f.body) <= MaxMessage+2 && !f.long { // an end of the line is none of it
		return
	}
	if !f.long {
		f.long, f.id = true, firstID(f.body[:ends])
	}
	if over := len(f.body) - ends; over > 0 {
		f.body = append(f.body[:0], f.body[over:]...)
	}
}

// finish looks for the id of a long message, which may stand at its end.
func (f *frame) finish() {
	if !f.long {
		return
	}
	if m := lastID().FindSubmatch(f.body); f.id == nil && m != nil && json.Valid(m[1]) {
		f.id = bytes.Clone(m[1])
	}
	f.body = nil
}

func (f *frame) readLine(in *bufio.Reader) {
	for {
		part, err := in.ReadSlice('\n')
		f.add(part)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(f.body) == 0):
			f.err = err
		}
		f.finish()
		return
	}
}

func (f *frame) readSize(in *bufio.Reader, size int64) {
	part := make([]byte, 32<<10)
	for size > 0 && f.err == nil {
		n, err := in.Read(part[:min(size, int64(len(part)))])
		f.add(part[:n])
		if size -= int64(n); err != nil {
			f.err = err
		}
	}
	f.finish()
}

// lastID is an id at the end of a message: nothing is behind it but the end.
var lastID = pattern.Later(`"id"[ \t]*:[ \t]*("(?:[^"\\]|\\.){0,1000}"|-?[0-9][0-9.eE+-]{0,100})[ \t]*\}[ \t\r\n]*$`)

// firstID is the id of a message that begins so, before its params.
func firstID(begin []byte) (id json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(begin))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		if key == "id" && (value[0] == '"' || value[0] == '-' || '0' <= value[0] && value[0] <= '9') {
			return value
		}
	}
	return nil
}
