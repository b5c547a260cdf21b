package sealedfile

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
	"github.com/ncruces/go-sqlite3/vfs/adiantum"
)

// keyed is the file system of one file: it encrypts, and gives a database its
// key before SQLite reads the first page. A key that came later, by a pragma,
// would leave the connection without checksums if that page lies in the log.
type keyed struct {
	vfs.VFS
	key func() [32]byte // behind a closure, out of reach of fmt
}

// OpenFilename implements vfs.VFSFilename.
func (k keyed) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, out, err := vfsutil.WrapOpenFilename(k.VFS, name, flags)
	if err != nil || flags&vfs.OPEN_MAIN_DB == 0 {
		return file, out, err
	}
	key := k.key()
	if _, err := vfsutil.WrapPragma(file, "hexkey", hex.EncodeToString(key[:])); err != nil {
		file.Close()
		return nil, out, sqlite3.IOERR_BADKEY
	}
	return file, out, nil
}

// steady is the system's files, read so that what another process writes
// meanwhile is seen whole or not at all.
type steady struct{ vfs.VFS }

// OpenFilename implements vfs.VFSFilename.
func (s steady) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if flags&vfs.OPEN_WAL == 0 {
		return vfsutil.WrapOpenFilename(s.VFS, name, flags)
	}
	// A log that is there was named by who made it: a connection that may make it syncs
	// for that once more.
	file, out, err := vfsutil.WrapOpenFilename(s.VFS, name, flags&^vfs.OPEN_CREATE)
	if err != nil {
		file, out, err = vfsutil.WrapOpenFilename(s.VFS, name, flags)
	}
	if err == nil {
		file = &steadyLog{File: file}
	}
	return file, out, err
}

// steadyLog is a log. Its frames are no whole blocks of what is encrypted: the
// block with the end of one frame is written again with the next. Who reads it at
// that moment may get the beginning of one and the end of the other, which
// decrypts to noise; so a block counts when two readings of it agree.
type steadyLog struct {
	vfs.File
	again []byte
}

// readings is how often a block is read at most.
const readings = 100

func (s *steadyLog) ReadAt(p []byte, off int64) (int, error) {
	if len(s.again) < len(p) {
		s.again = make([]byte, len(p))
	}
	n, err := s.File.ReadAt(p, off)
	for range readings {
		if err != nil && err != io.EOF {
			return n, err
		}
		again := s.again[:len(p)]
		m, errAgain := s.File.ReadAt(again, off)
		if m == n && bytes.Equal(again[:m], p[:n]) {
			return n, err
		}
		n, err = copy(p, again[:m]), errAgain
	}
	return 0, sqlite3.IOERR_READ
}

// system is the file system of the machine.
var system = func() vfs.VFS { return vfs.Find("") }

// register makes the file system known to SQLite, under the name that is
// returned.
func (f *File) register() string {
	name, key := fmt.Sprintf("sealed-%p", f), f.key
	vfs.Register(name, keyed{adiantum.Wrap(steady{system()}, nil), func() [32]byte { return key }})
	return name
}
