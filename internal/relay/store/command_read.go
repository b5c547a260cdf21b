package store

import (
	"encoding/binary"
	"math"
	"reflect"
)

// commandReader reads the fields of a command. Once it has met something that
// AppendCommand would not have written it is bad, and returns zero values only.
type commandReader struct {
	left []byte
	bad  bool
}

// take returns the next n bytes, nil if there are fewer.
func (r *commandReader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.left)) {
		r.bad = true
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}

func (r *commandReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

// flag reads a byte that is 0 or 1.
func (r *commandReader) flag() bool {
	b := r.byte()
	r.bad = r.bad || b > 1
	return b == 1
}

// uvarint reads a number and accepts its shortest form only.
func (r *commandReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.left)
	if size <= 0 || size > 1 && r.left[size-1] == 0 {
		r.bad = true
		return 0
	}
	r.take(uint64(size))
	return n
}

func (r *commandReader) varint() int64 {
	u := r.uvarint()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}

// value reads a field.
func (r *commandReader) value(v reflect.Value) {
	if r.bad {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.flag())
	case reflect.Int, reflect.Int64:
		n := r.varint()
		r.bad = r.bad || v.OverflowInt(n)
		v.SetInt(n)
	case reflect.String:
		v.SetString(string(r.take(r.uvarint())))
	case reflect.Pointer:
		if r.flag() {
			v.Set(reflect.New(v.Type().Elem()))
			r.value(v.Elem())
		}
	case reflect.Slice:
		r.list(v)
	case reflect.Array:
		for i, b := range r.take(uint64(v.Len())) {
			v.Index(i).SetUint(uint64(b))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			r.value(v.Field(i))
		}
	}
}

// list reads a list and grows it with the elements that are there, so that a
// false length costs nothing.
func (r *commandReader) list(v reflect.Value) {
	n := r.uvarint()
	if n == 0 || r.bad {
		return
	}
	n--
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if b := r.take(n); b != nil {
			v.SetBytes(append(make([]byte, 0, len(b)), b...))
		}
		return
	}
	if r.bad = n > uint64(len(r.left)) || n > math.MaxInt32; r.bad {
		return // each element takes a byte at least
	}
	out := reflect.MakeSlice(v.Type(), 0, int(min(n, 16)))
	for i := 0; uint64(i) < n && !r.bad; i++ {
		out = reflect.Append(out, reflect.Zero(v.Type().Elem()))
		r.value(out.Index(i))
	}
	v.Set(out)
}
