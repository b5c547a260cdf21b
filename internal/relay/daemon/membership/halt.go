package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"engramd/internal/platform/files"
	"engramd/internal/relay/keys/keyfile"
)

// HaltFile says in a data folder that its node has halted. It is there until
// `engramd cluster recover` is done: interrupted anywhere, that is run again.
const HaltFile = "cluster.halted"

// Halt is what stands there.
type Halt struct {
	Cluster string    `json:"cluster"` // that the node was of when it halted
	Why     string    `json:"why"`
	At      time.Time `json:"at"`
	Import  []string  `json:"import,omitempty"` // files with what only others had, or this node before it joined
	Joined  bool      `json:"joined,omitempty"` // it is a node of the others again, which has to import them
}

// ReadHalt reads the file; nil if there is none.
func ReadHalt(dir string) (*Halt, error) {
	path := filepath.Join(dir, HaltFile)
	text, err := keyfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	h := new(Halt)
	if err == nil {
		err = json.Unmarshal(text, h)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not as it was written: %w", path, err)
	}
	return h, nil
}

// Save writes it, durably.
func (h *Halt) Save(dir string) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return files.Replace(filepath.Join(dir, HaltFile), append(text, '\n'))
}

// Over takes the file away.
func Over(dir string) error {
	err := keyfile.Remove(filepath.Join(dir, HaltFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
