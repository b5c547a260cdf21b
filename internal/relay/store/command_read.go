package store

import (
	"math"
	"reflect"

	"engramd/internal/relay/strict"
)

// commandReader reads the fields of a command. Once it has met something that
// AppendCommand would not have written it is bad, and returns zero values only.
type commandReader struct{ strict.Reader }

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
