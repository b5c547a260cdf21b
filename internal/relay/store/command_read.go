package store

import (
	"encoding/binary"
	"math"
	"reflect"
)

// StrictReader reads what the appending functions of encoding/binary write off
// the front of Left, and nothing else. Once it has met something that they would
// not have written it is Bad, and returns zero values only.
type StrictReader struct {
	Left []byte
	Bad  bool
}

// Take returns the next n bytes, nil if there are fewer.
func (r *StrictReader) Take(n uint64) []byte {
	if r.Bad || n > uint64(len(r.Left)) {
		r.Bad = true
		return nil
	}
	b := r.Left[:n:n]
	r.Left = r.Left[n:]
	return b
}

// Byte reads a byte.
func (r *StrictReader) Byte() byte {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uvarint reads a number and accepts its shortest form only.
func (r *StrictReader) Uvarint() uint64 {
	n, size := binary.Uvarint(r.Left)
	if r.Bad || size <= 0 || size > 1 && r.Left[size-1] == 0 {
		r.Bad = true
		return 0
	}
	r.Take(uint64(size))
	return n
}

// Varint reads a number with a sign.
func (r *StrictReader) Varint() int64 {
	u := r.Uvarint()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}

// commandReader reads the fields of a command. Once it has met something that
// AppendCommand would not have written it is bad, and returns zero values only.
type commandReader struct{ StrictReader }

// flag reads a byte that is 0 or 1.
func (r *commandReader) flag() bool {
	b := r.Byte()
	r.Bad = r.Bad || b > 1
	return b == 1
}

// value reads a field.
func (r *commandReader) value(v reflect.Value) {
	if r.Bad {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.flag())
	case reflect.Int, reflect.Int64:
		n := r.Varint()
		r.Bad = r.Bad || v.OverflowInt(n)
		v.SetInt(n)
	case reflect.String:
		v.SetString(string(r.Take(r.Uvarint())))
	case reflect.Pointer:
		if r.flag() {
			v.Set(reflect.New(v.Type().Elem()))
			r.value(v.Elem())
		}
	case reflect.Slice:
		r.list(v)
	case reflect.Array:
		for i, b := range r.Take(uint64(v.Len())) {
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
	n := r.Uvarint()
	if n == 0 || r.Bad {
		return
	}
	n--
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if b := r.Take(n); b != nil {
			v.SetBytes(append(make([]byte, 0, len(b)), b...))
		}
		return
	}
	if r.Bad = n > uint64(len(r.Left)) || n > math.MaxInt32; r.Bad {
		return // each element takes a byte at least
	}
	out := reflect.MakeSlice(v.Type(), 0, int(min(n, 16)))
	for i := 0; uint64(i) < n && !r.Bad; i++ {
		out = reflect.Append(out, reflect.Zero(v.Type().Elem()))
		r.value(out.Index(i))
	}
	v.Set(out)
}
