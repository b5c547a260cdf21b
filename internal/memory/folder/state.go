package folder

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"engramd/nips/nipae"
)

const (
	stateFile    = inner + "/state.json"
	stateVersion = 1
	mostState    = 64 << 20 // bytes
)

// State is what both sides were when they last were the same.
type State struct {
	Version int    `json:"version"`
	Agent   string `json:"agent"` // public keys in hex: whose memory it is
	Owner   string `json:"owner"`
	// Snapshot is the snapshot that was taken before the memory was first written
	// from this folder, NoSnapshot if there was nothing to keep.
	Snapshot string `json:"snapshot,omitempty"`
	Index    string `json:"index,omitempty"` // hash of index.md as it was written
	// ToIndex is the hash of the index.md that was about to be written.
	ToIndex string           `json:"to_index,omitempty"`
	Files   map[string]Entry `json:"files"` // by path
}

// NoSnapshot stands for a snapshot of a memory that had nothing in it.
const NoSnapshot = "none"

// Entry is what is known of one file.
type Entry struct {
	Slug nipae.Slug `json:"slug"`
	Hash string     `json:"hash,omitempty"` // of the text that both sides had
	ID   string     `json:"id,omitempty"`   // of its event
	// ToFolder and ToMemory are the hash of what was about to be written when the
	// state was kept: whether it was, the side itself tells.
	ToFolder string `json:"to_folder,omitempty"`
	ToMemory string `json:"to_memory,omitempty"`
	// Conflict is the hash of the memory's text that lies beside the file.
	Conflict string `json:"conflict,omitempty"`
}

// ErrState is a state that is none, or another memory's.
var ErrState = errors.New("the folder's state cannot be used")

// LoadState reads the state; nil if the folder has none.
func (t *Tree) LoadState() (*State, error) {
	data, err := t.read(stateFile, mostState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrState, stateFile, err)
	}
	s := &State{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%w: %s: %w (without it the next run compares everything anew)", ErrState, stateFile, err)
	}
	return s, s.check()
}

func (s *State) check() error {
	if s.Version != stateVersion {
		return fmt.Errorf("%w: %s is of version %d, and this program knows %d", ErrState, stateFile, s.Version, stateVersion)
	}
	seen := map[nipae.Slug]bool{}
	for path, e := range s.Files {
		slug, err := nipae.ParseSlug(string(e.Slug))
		if err != nil || seen[slug] || !fs.ValidPath(path) || !isText(path) || hiddenWithin(path) {
			return fmt.Errorf("%w: %s: the entry of %q is wrong", ErrState, stateFile, path)
		}
		seen[slug] = true
	}
	if s.Files == nil {
		s.Files = map[string]Entry{}
	}
	return nil
}

func hiddenWithin(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if hidden(part) {
			return true
		}
	}
	return false
}

// Of reports whose folder it is: an error for another pair's.
func (s *State) Of(agent, owner string) error {
	if s.Agent != agent || s.Owner != owner {
		return fmt.Errorf("%w: it is the folder of another agent or owner", ErrState)
	}
	return nil
}

// NewState is the state of a folder that has none.
func NewState(agent, owner string) *State {
	return &State{Version: stateVersion, Agent: agent, Owner: owner, Files: map[string]Entry{}}
}

// StateGone reports whether there is certainly no state any more.
func (t *Tree) StateGone() bool { return t.absent(stateFile) }

// SaveState keeps the state.
func (t *Tree) SaveState(s *State) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return t.replace(stateFile, append(data, '\n'), nil)
}
