package power

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// What a record of powercut.c says.
const (
	opOpen = 1 + iota
	opWrite
	opTruncate
	opSyncBegin
	opSyncEnd
	opSyncFailed
	opUnlink
	opBeside
)

// op is one record.
type op struct {
	kind, pid uint32
	path      string
	at        uint64
	data      []byte
	end       int64 // where the next one begins
}

// newFile is the size of a file that an open has made.
const newFile = 1<<64 - 1

// parseOps reads the records of a log.
func parseOps(log []byte) ([]op, error) {
	const header = 24
	var ops []op
	for at := 0; at < len(log); {
		if len(log)-at < header {
			return nil, fmt.Errorf("the log ends within a record at %d", at)
		}
		h := log[at:]
		name, data := int(binary.NativeEndian.Uint32(h[4:])), int(binary.NativeEndian.Uint32(h[8:]))
		end := at + header + name + data
		if end > len(log) {
			return nil, fmt.Errorf("the log ends within a record at %d", at)
		}
		ops = append(ops, op{
			kind: binary.NativeEndian.Uint32(h), pid: binary.NativeEndian.Uint32(h[12:]), at: binary.NativeEndian.Uint64(h[16:]),
			path: string(h[header : header+name]), data: h[header+name : header+name+data], end: int64(end),
		})
		at = end
	}
	return ops, nil
}

// inode is a file, whatever its name.
type inode struct {
	now     []byte // what a process reads
	durable []byte
	foreign bool // Go made it, as it gives a finished backup its name: only read here
}

// change is what is not durable yet: of a file's bytes, or of a name.
type change struct {
	file     *inode
	name     string // of a change of names; "" else
	remove   bool   // of the name
	truncate bool
	at       uint64
	data     []byte
}

// disk follows a log.
type disk struct {
	root    string
	names   map[string]*inode // what a process sees
	durable map[string]*inode // what a disk without the changes has
	waiting []*change         // in the order of their making
	begun   map[string][]*change
	beside  []byte // the mark; nil: none was seen
	mark    string
}

func newDisk(root string) *disk {
	return &disk{root: root, names: map[string]*inode{}, durable: map[string]*inode{}, begun: map[string][]*change{}}
}

// apply follows one record.
func (d *disk) apply(o op) error {
	file := d.names[o.path]
	if file == nil && o.kind != opOpen && o.kind != opSyncBegin && o.kind != opSyncEnd && o.kind != opSyncFailed && o.kind != opBeside {
		return fmt.Errorf("%s was not opened", o.path)
	}
	if file != nil && file.foreign && (o.kind == opWrite || o.kind == opTruncate) {
		return fmt.Errorf("%s is written, and what it held nobody saw", o.path)
	}
	switch o.kind {
	case opOpen:
		return d.open(o, file)
	case opWrite:
		d.change(&change{file: file, at: o.at, data: o.data})
	case opTruncate:
		d.change(&change{file: file, at: o.at, truncate: true})
	case opUnlink:
		delete(d.names, o.path)
		d.waiting = append(d.waiting, &change{file: file, name: o.path, remove: true})
	case opBeside:
		d.mark, d.beside = o.path, o.data
	case opSyncBegin:
		d.begun[syncName(o)] = d.about(o.path, file)
	case opSyncEnd, opSyncFailed:
		those := d.begun[syncName(o)]
		delete(d.begun, syncName(o))
		for _, c := range those {
			i := slices.Index(d.waiting, c)
			if i < 0 {
				continue // another sync was faster
			}
			d.waiting = slices.Delete(d.waiting, i, i+1)
			if o.kind == opSyncEnd {
				d.settle(c)
			}
		}
	default:
		return fmt.Errorf("a record of kind %d", o.kind)
	}
	return nil
}

// open learns of a file.
func (d *disk) open(o op, file *inode) error {
	switch {
	case file != nil && file.foreign:
		return nil
	case file != nil && o.at == newFile:
		return fmt.Errorf("%s is new, and was there: something removed it unseen", o.path)
	case file != nil && o.at != uint64(len(file.now)):
		return fmt.Errorf("%s has %d bytes, and %d were seen", o.path, o.at, len(file.now))
	case file != nil:
		return nil
	case o.at != newFile && o.at != 0:
		d.names[o.path] = &inode{foreign: true}
		return nil
	}
	file = &inode{}
	d.names[o.path] = file
	if o.at == newFile {
		d.waiting = append(d.waiting, &change{file: file, name: o.path})
	} else {
		d.durable[o.path] = file // by Go, which is not seen
	}
	return nil
}

func (d *disk) change(c *change) {
	c.file.now = c.to(c.file.now)
	d.waiting = append(d.waiting, c)
}

// to does a change of bytes.
func (c *change) to(b []byte) []byte {
	size := int(c.at)
	if !c.truncate {
		size = max(len(b), size+len(c.data))
	}
	if size <= len(b) {
		b = b[:size]
	} else {
		b = append(b, make([]byte, size-len(b))...)
	}
	if !c.truncate {
		copy(b[c.at:], c.data)
	}
	return b
}

// settle makes a change durable.
func (d *disk) settle(c *change) {
	switch {
	case c.name == "":
		c.file.durable = c.to(c.file.durable)
	case !c.remove:
		d.durable[c.name] = c.file
	case d.durable[c.name] == c.file:
		delete(d.durable, c.name)
	}
}

func syncName(o op) string { return fmt.Sprintf("%d/%d", o.pid, o.at) }

// about are the changes that a sync of a file or a folder makes durable.
func (d *disk) about(path string, file *inode) []*change {
	var out []*change
	for _, c := range d.waiting {
		if file != nil && c.file == file && !c.remove || file == nil && c.name != "" && filepath.Dir(c.name) == path {
			out = append(out, c)
		}
	}
	return out
}

// same compares what was followed with the files as they are.
func (d *disk) same() error {
	for name, file := range d.names {
		if file.foreign {
			continue
		}
		is, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // removed by Go: a backup's partial copy
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(is, file.now) {
			return fmt.Errorf("%s is not what was written down: the layer does not see all", name)
		}
	}
	return nil
}
