// Package journal brings files of a folder into their places where that takes more
// than one step. What is to be done is written down first, durably, and done again
// from there if it was interrupted.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"engramd/internal/platform/files"
)

// Name is the journal's file in the folder.
const Name = "engramd.journal"

const (
	maxSize  = 16 << 10
	maxMoves = 32
)

// Journal is work that was begun.
type Journal struct {
	Command string `json:"command"`         // that began it, and that is run again
	Copy    string `json:"copy,omitempty"`  // what it copies, as the command wrote it
	Moves   []Move `json:"moves,omitempty"` // none while it copies: nothing is to be finished yet
}

// Move gives a file, whose name is relative to the folder, another name. One that is
// not there has it already. Nothing is overwritten, except by Over: who moves a file
// aside, and another one to its place, may do both again.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
	Over bool   `json:"over,omitempty"`
}

// ErrBegun means that a command has to be run again.
var ErrBegun = errors.New("was interrupted: run it again")

// Read returns the journal of a folder, nil if there is none.
func Read(dir string) (*Journal, error) {
	f, err := os.Open(filepath.Join(dir, Name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, err
	}
	j, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not as it was written: %w", f.Name(), err)
	}
	return j, nil
}

func parse(text []byte) (*Journal, error) {
	j := &Journal{}
	if len(text) > maxSize {
		return nil, errors.New("too long")
	}
	if err := json.Unmarshal(text, j); err != nil {
		return nil, err
	}
	if j.Command == "" || len(j.Moves) > maxMoves {
		return nil, errors.New("no work of a command")
	}
	for _, m := range j.Moves {
		if !filepath.IsLocal(m.From) || !filepath.IsLocal(m.To) {
			return nil, fmt.Errorf("%v is not in the folder", m)
		}
	}
	return j, nil
}

// Aside returns the moves of those of a folder's files that are there to one below it.
func Aside(dir, below string, names ...string) (moves []Move, err error) {
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			moves = append(moves, Move{From: name, To: filepath.Join(below, name)})
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	return moves, nil
}

// Write puts the journal into its folder, in the place of one that is there, durably.
func (j *Journal) Write(dir string) error {
	text, err := json.Marshal(j)
	if err == nil {
		_, err = parse(text)
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return files.Replace(filepath.Join(dir, Name), text)
}

// Finish does what is to be done, each step durably, and removes the journal. Work
// of which nothing can be done without its command is ErrBegun, unless it is one of own.
func Finish(dir string, own ...string) (done *Journal, err error) {
	j, err := Read(dir)
	if err != nil || j == nil {
		return nil, err
	}
	if len(j.Moves) == 0 {
		if !slices.Contains(own, j.Command) {
			err = fmt.Errorf("%s %w, or remove %s to go on with what is here", j.Command, ErrBegun, filepath.Join(dir, Name))
		}
		return nil, err
	}
	for _, m := range j.Moves {
		if err := m.do(dir); err != nil {
			return nil, err
		}
	}
	return j, Drop(dir)
}

// Drop removes the journal: nothing of it is to be done.
func Drop(dir string) error {
	if err := os.Remove(filepath.Join(dir, Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return files.SyncDir(dir)
}

func (m Move) do(dir string) error {
	from, to := filepath.Join(dir, m.From), filepath.Join(dir, m.To)
	if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(to); err == nil && !m.Over {
		return nil
	}
	if below := filepath.Dir(to); below != dir {
		if err := os.Mkdir(below, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return errors.Join(files.SyncDir(filepath.Dir(to)), files.SyncDir(dir))
}
