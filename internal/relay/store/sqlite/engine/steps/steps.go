// Package steps calls a function again and again while a SQLite statement runs,
// by what the statement does and not by the clock: mattn/go-sqlite3 does not
// hand out sqlite3_progress_handler.
package steps

/*
#include <stdlib.h>
#include "steps.h"
int engramdWatch(uintptr_t db, engramdWatched *w);
void engramdUnwatch(uintptr_t db);
*/
import "C"

import (
	"errors"
	"reflect"
	"runtime/cgo"
	"time"
	"unsafe"

	"github.com/mattn/go-sqlite3"
)

// Watch is a function that watches a connection.
type Watch struct {
	db     uintptr
	handle cgo.Handle
	w      *C.engramdWatched
}

// connection is the type of the driver's field db, which has no exported way to
// it. A test says so when a new driver has another one.
const connection = "*sqlite3._Ctype_struct_sqlite3"

// ErrDriver means that the driver is another than this package was made for.
var ErrDriver = errors.New("the SQLite driver does not show its connection")

// every is how many steps are done between two looks at the clock.
const every = 1000

// New has fn called on the goroutine that runs a statement of c, whenever
// another "most" instructions of SQLite's virtual machine are done (an index
// entry looked at takes some ten of them), or patience is over; it is told how
// many were done since the last time. When fn returns false the statement ends
// with SQLITE_INTERRUPT. fn may block; it must not use c. Call Close before c
// is closed.
//
// It also gives c the SQL function engramd_mark(integer), which is true and
// notes its argument: see At.
func New(c *sqlite3.SQLiteConn, most int, patience time.Duration, fn func(steps int64) bool) (*Watch, error) {
	field := reflect.ValueOf(c).Elem().FieldByName("db")
	if !field.IsValid() || field.Type().String() != connection || field.Pointer() == 0 {
		return nil, ErrDriver
	}
	w := &Watch{db: field.Pointer(), handle: cgo.NewHandle(fn), w: (*C.engramdWatched)(C.calloc(1, C.sizeof_engramdWatched))}
	w.w.handle, w.w.every, w.w.most = C.uintptr_t(w.handle), C.int(min(every, most)), C.int64_t(most)
	w.w.patience = C.int64_t(patience)
	if C.engramdWatch(C.uintptr_t(w.db), w.w) != 0 {
		w.free()
		return nil, ErrDriver
	}
	return w, nil
}

// Close ends the watch. No statement that was prepared before may run after it.
func (w *Watch) Close() {
	C.engramdUnwatch(C.uintptr_t(w.db))
	w.free()
}

func (w *Watch) free() {
	w.handle.Delete()
	C.free(unsafe.Pointer(w.w))
}

// Reset forgets the steps that fn was not told of yet.
func (w *Watch) Reset() { w.w.steps, w.w.since = 0, 0 }

// Mark notes a number as engramd_mark does.
func (w *Watch) Mark(at int64) { w.w.at = C.int64_t(at) }

// At is the number that was noted last.
func (w *Watch) At() int64 { return int64(w.w.at) }

//export engramdSteps
func engramdSteps(handle C.uintptr_t, steps C.int64_t) C.int {
	if cgo.Handle(handle).Value().(func(int64) bool)(int64(steps)) {
		return 0
	}
	return 1
}
