// Package sums gives a SQLite connection the function engramd_sum, by which a
// row shows that it is as it was written. It is C, as what SQLite calls for
// each row that is read must not enter Go.
package sums

/*
#include <stdint.h>
int engramdSums(uintptr_t db);
*/
import "C"

import (
	"errors"
	"reflect"

	"github.com/mattn/go-sqlite3"
)

// connection is the type of the driver's field db, as package steps has it.
const connection = "*sqlite3._Ctype_struct_sqlite3"

// ErrDriver means that the driver is another than this package was made for.
var ErrDriver = errors.New("the SQLite driver does not show its connection")

// Register gives c the SQL function engramd_sum(value, …): an integer of 64 bits
// over the types, lengths and bytes of its arguments, in their order. It is the
// same on every machine and for ever: databases hold it. Values that differ in
// eight bytes at most, at a multiple of eight, never have the same sum; any
// others have it once in 2^64 times, unless somebody chose them. It is against
// rot, not against who can write the file.
func Register(c *sqlite3.SQLiteConn) error {
	field := reflect.ValueOf(c).Elem().FieldByName("db")
	if !field.IsValid() || field.Type().String() != connection || field.Pointer() == 0 {
		return ErrDriver
	}
	if C.engramdSums(C.uintptr_t(field.Pointer())) != 0 {
		return ErrDriver
	}
	return nil
}
