package evidence

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files of a folder that is checked. Disclosures are the files of a folder in
// it: each what `engramctl contract disclose` printed.
const (
	EventsFile    = "events.jsonl"
	OrderFile     = "order.json"
	SealedList    = "sealed.json"
	DisclosureDir = "disclosed"
)

// Bounds of what is read. A thread has at most what a relay's API lists.
const (
	maxEventsBytes     = 256 << 20
	maxOrderBytes      = 16 << 20
	maxDisclosureBytes = 1 << 20
	maxDisclosures     = 1000
	maxEvents          = 100_000
)

// ErrInput means that what is to be checked cannot be read, or is no export.
var ErrInput = errors.New("that is no export of a contract")

// Files are what is checked.
type Files struct {
	Events      []byte            // one event a line
	Order       []byte            // nil for none
	Sealed      []byte            // nil for none
	Disclosures map[string][]byte // by name of the file
}

// Read reads a folder, or a file with events. The error is ErrInput, or one of
// reading.
func Read(path string) (Files, error) {
	f := Files{Disclosures: map[string][]byte{}}
	info, err := os.Stat(path)
	if err != nil {
		return f, err
	}
	if !info.IsDir() {
		f.Events, err = readAtMost(path, maxEventsBytes)
		return f, err
	}
	if f.Events, err = readAtMost(filepath.Join(path, EventsFile), maxEventsBytes); errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("%w: it has no file %s", ErrInput, EventsFile)
	} else if err != nil {
		return f, err
	}
	if f.Order, err = readAtMost(filepath.Join(path, OrderFile), maxOrderBytes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if f.Sealed, err = readAtMost(filepath.Join(path, SealedList), maxOrderBytes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	names, err := os.ReadDir(filepath.Join(path, DisclosureDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if len(names) > maxDisclosures {
		return f, fmt.Errorf("%w: %s has more than %d files", ErrInput, DisclosureDir, maxDisclosures)
	}
	for _, name := range names {
		if name.IsDir() || !strings.HasSuffix(name.Name(), ".json") {
			continue
		}
		if f.Disclosures[name.Name()], err = readAtMost(filepath.Join(path, DisclosureDir, name.Name()), maxDisclosureBytes); err != nil {
			return f, err
		}
	}
	return f, nil
}

func readAtMost(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%w: %s has more than %d bytes", ErrInput, filepath.Base(path), most)
	}
	return b, err
}
