package sealedfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3/vfs"

	"engramd/internal/platform/files"
)

// Options say what a file is.
type Options struct {
	// What the file is, for people: "the local copy".
	What string
	// Application is the number of this kind of file.
	Application int32
	// Schema holds steps of SQL; a file says how many of them it has. A step that
	// was released never changes.
	Schema []string
	// Durable makes each write outlast a loss of power; without, only the end of
	// the process. Then SQLite also fills up the block of the log that a
	// transaction ends in (since Adiantum promises nothing of blocks that are
	// written again), so that a block that is torn while the next transaction is
	// written holds nothing of this one.
	Durable bool
	// RefuseNewer fails with ErrNewer instead of setting a later version's file
	// aside.
	RefuseNewer bool
	// Check looks whether the file belongs here, in a transaction that it may
	// write in. It is called at each opening, and returns ErrForeign.
	Check func(*Tx) error
	// Keep is how many files that were set aside stay; 0 is all of them.
	Keep int
	// MaxBytes bounds the file; 0 is without a bound.
	MaxBytes int64
	// Warn takes one line when a file is set aside; nil drops it.
	Warn func(string)
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// connections is how many transactions of one File may run at once; one of them
// writes.
const connections = 4

// File is an open file. Any number of goroutines may use it.
type File struct {
	path string
	vfs  string // the name of its file system: see register
	key  [32]byte
	o    Options

	writing     chan struct{} // holds one token: who has it may write
	places      chan struct{} // holds one token for each transaction that may run
	connections int           // how many those are
	ended       chan struct{} // closed by Close
	mu          sync.Mutex    // guards what follows
	idle        []*conn       // open and used by nobody
	self        os.FileInfo   // the file as it was opened
	round       int           // how often it was opened: see Mended
	closed      bool
}

// Open opens the file at path, or begins it, with its folder. A file that is
// there and cannot be used is set aside (but see Options.RefuseNewer). With ""
// as path everything lies in memory: nothing is read from a disk or written.
func Open(ctx context.Context, path string, key [32]byte, o Options) (*File, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	f := &File{path: path, key: key, o: o, connections: connections, writing: make(chan struct{}, 1), places: make(chan struct{}, connections), ended: make(chan struct{})}
	if f.inMemory() {
		f.connections = 1 // each has a database of its own
	}
	f.writing <- struct{}{}
	for range f.connections {
		f.places <- struct{}{}
	}
	f.vfs = f.register()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(ctx, nil); err != nil {
		vfs.Unregister(f.vfs)
		return nil, fmt.Errorf("%s: %w", o.What, err)
	}
	return f, nil
}

// open opens the first connection, while no other process opens or sets aside.
// damaged is what a use of the file has found, nil if nothing. The caller holds
// mu.
func (f *File) open(ctx context.Context, damaged error) error {
	if f.inMemory() {
		c, err := f.begin(ctx)
		if err != nil {
			return err
		}
		f.idle = append(f.idle, c)
		f.round++
		return nil
	}
	unlock, err := lock(ctx, f.path)
	if err != nil {
		return err
	}
	defer unlock()
	if damaged != nil && f.same() {
		if err := f.setAside(damaged); err != nil {
			return err
		}
	}
	c, err := f.begin(ctx)
	if unusable(err) && !(f.o.RefuseNewer && errors.Is(err, ErrNewer)) {
		if err := f.setAside(err); err != nil {
			return err
		}
		c, err = f.begin(ctx)
	}
	if err != nil {
		return err
	}
	if f.self, err = os.Stat(f.path); err != nil {
		c.close()
		return err
	}
	f.idle = append(f.idle, c)
	f.round++
	return nil
}

// begin opens a connection and sees to it that the file is what it must be.
func (f *File) begin(ctx context.Context) (*conn, error) {
	if !f.inMemory() {
		if err := private(f.path); err != nil {
			return nil, err
		}
	}
	c, err := f.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.prepare(ctx, c); err != nil {
		c.close()
		return nil, err
	}
	if f.inMemory() {
		return c, nil
	}
	if err := private(f.path); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// named makes the names of the file and its log outlast a loss of power, before
// anything is in the log: it stays from then on.
func (f *File) named() error {
	if info, err := os.Stat(f.path + "-wal"); !f.o.Durable || f.inMemory() || err == nil && info.Size() > 0 {
		return nil
	}
	return files.SyncDir(filepath.Dir(f.path))
}

// unusable reports whether the file is to be set aside for this error.
func unusable(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, ErrForeign) || errors.Is(err, ErrNewer)
}

// Mended runs a use of the file, and once more if a transaction of it found the file
// to be ErrDamaged or ErrMoved: that is set aside, unless another use has done so, and
// the one that is in its place from now on is opened. Transactions of before that
// still run end as they will.
func (f *File) Mended(ctx context.Context, use func() error) error {
	f.mu.Lock()
	round := f.round
	f.mu.Unlock()
	err := use()
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrMoved) {
		return err
	}
	if err := f.reopen(ctx, round, err); err != nil {
		return fmt.Errorf("%s: %w", f.o.What, err)
	}
	return use()
}

// reopen opens what is in the place of the file that was found to be of no use in a
// round.
func (f *File) reopen(ctx context.Context, round int, reason error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	if !errors.Is(reason, ErrDamaged) {
		reason = nil
	}
	if round != f.round || reason == nil && f.same() {
		return nil // another goroutine was here first
	}
	f.drop()
	return f.open(ctx, reason)
}

func (f *File) inMemory() bool { return f.path == "" }

// Path returns where the file is; "" is in memory.
func (f *File) Path() string { return f.path }

// Close ends the file's use, after transactions that run.
func (f *File) Close() error { return f.close(logRestBytes) }

// CloseSettled is Close for what nothing else has: unless another process reads, none of
// it is left in the log, of which a damaged end is taken for one that was cut off.
func (f *File) CloseSettled() error { return f.close(0) }

// close leaves a log of so many bytes at most.
func (f *File) close(rest int64) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	f.mu.Unlock()
	close(f.ended)
	for range f.connections {
		<-f.places
	}
	defer vfs.Unregister(f.vfs)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.idle) > 0 && !f.inMemory() {
		f.idle[0].shorten(f.path, rest)
	}
	return f.drop()
}

// drop closes the idle connections. The caller holds mu.
func (f *File) drop() error {
	var errs []error
	for _, c := range f.idle {
		errs = append(errs, c.close())
	}
	f.idle = nil
	return errors.Join(errs...)
}

// same reports whether the file is still where it was opened.
func (f *File) same() bool {
	if f.inMemory() {
		return true
	}
	now, err := os.Stat(f.path)
	return err == nil && f.self != nil && os.SameFile(now, f.self)
}
