package folder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"engramd/internal/client"
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

// markFile says that a folder is the agent's own; it is apart from the state, which
// other versions of this program write anew.
const markFile = inner + "/registered"

// mostMark is more than any mark has, in bytes.
const mostMark = 256

// Mark is what says that the folder is the agent's own, "" for nothing.
func (t *Tree) Mark() string {
	data, err := t.read(markFile, mostMark)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// SetMark keeps what says so.
func (t *Tree) SetMark(mark string) error { return t.replace(markFile, []byte(mark+"\n"), nil) }

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

// ErrIndex means that index.md is somebody else's.
var ErrIndex = errors.New("index.md is not the one that was written here, and is left alone")

// WriteIndex writes the list of contents: each unit with a link that Obsidian
// follows, and what title says of it. It is left alone if it was changed.
func (t *Tree) WriteIndex(s *State, l *Listing, units []Unit, title func(Unit) string) error {
	units = slices.DeleteFunc(slices.Clone(units), func(u Unit) bool { return u.Removed })
	slices.SortFunc(units, func(a, b Unit) int { return cmp.Compare(a.Slug, b.Slug) })
	var b strings.Builder
	b.WriteString("# Memory\n\nWritten by engramctl; changes here are not read.\n\n")
	paths := map[string]string{}
	for p, e := range s.Files {
		paths[string(e.Slug)] = p
	}
	for _, u := range units {
		file := cmp.Or(paths[string(u.Slug)], PathOf(u.Slug))
		fmt.Fprintf(&b, "- [[%s]]", file[:len(file)-len(suffix)])
		if text := title(u); text != "" {
			b.WriteString(" " + text)
		}
		b.WriteByte('\n')
	}
	hash := client.Hash(b.String())
	switch {
	case l.index == hash:
	case l.index != "" && l.index != s.Index && l.index != s.ToIndex:
		return ErrIndex
	default:
		s.Index, s.ToIndex = l.index, hash
		if err := t.SaveState(s); err != nil {
			return err
		}
		if err := t.replace(IndexName, []byte(b.String()), &File{Path: IndexName, Hash: l.index}); err != nil {
			return fmt.Errorf("%s: %w", IndexName, err)
		}
	}
	if s.Index == hash && s.ToIndex == "" {
		return nil
	}
	s.Index, s.ToIndex = hash, ""
	return t.SaveState(s)
}
