package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/consolidation"
	"engramd/internal/platform/files"
)

// Profiles is the configuration file.
type Profiles struct {
	// Profile is the name of the one that counts if none is named.
	Profile  string                 `toml:"profile"`
	Profiles map[string]ProfileFile `toml:"profiles"`
}

// ProfileFile is one profile as it stands in the file.
type ProfileFile struct {
	KeyFile string `toml:"key_file"` // relative to the folder of the configuration file
	// KeyStore is keychain where the key lies in the system's own store, under the
	// profile's name.
	KeyStore string   `toml:"key_store"`
	Relays   []string `toml:"relays"`
	Owner    string   `toml:"owner"`
	// Name is what the agent is called on this machine, and nowhere else.
	Name  string `toml:"name"`
	Agent string `toml:"agent"`
	// Decider is the relay that decides writes with a base.
	Decider string `toml:"decider"`
	// Discovery says whether relays that the agent lists are asked too (read),
	// written to as well (write), or not looked for (off).
	Discovery string `toml:"discovery"`
	// NoMirror keeps no copy of the memory on this machine.
	NoMirror bool `toml:"no_mirror"`
	// Embed is none where meaning is not compared; the built-in matrix does otherwise.
	Embed string `toml:"embed"`
	// EmbedURL and EmbedModel name a model server that compares meaning.
	EmbedURL   string `toml:"embed_url"`
	EmbedModel string `toml:"embed_model"`
	// RerankURL and RerankModel name one that puts results in order.
	RerankURL   string `toml:"rerank_url"`
	RerankModel string `toml:"rerank_model"`
	// MindExec is a command that thinks about plans, LLMURL and LLMModel name a model
	// server that does.
	MindExec string `toml:"mind_exec"`
	LLMURL   string `toml:"llm_url"`
	LLMModel string `toml:"llm_model"`
	// DreamUnits and DreamEvery say after how many new units, and how long after the
	// last one, a dream is offered; 0 is never.
	DreamUnits *int    `toml:"dream_units"`
	DreamEvery *string `toml:"dream_every"`
	// HookTime is how long a hook may take, but at the start of a session.
	HookTime string `toml:"hook_time"`
	// Proposals say what becomes of what others propose.
	Proposals proposalsFile `toml:"proposals"`
	// Attest signs at the start of each session where it continues from.
	Attest bool `toml:"attest"`
}

// OwnerKeyFile is where setup keeps the owner's key of a profile, encrypted.
func OwnerKeyFile(config, profile string) string {
	return filepath.Join(filepath.Dir(config), profile+".owner.ncryptsec")
}

// Layer returns what the profile of that name says in the file at a path.
func (file Profiles) Layer(name, path string) (Layer, error) {
	p, ok := file.Profiles[name]
	if !ok {
		known := "it has none"
		if len(file.Profiles) > 0 {
			known = "it has " + strings.Join(slices.Sorted(maps.Keys(file.Profiles)), ", ")
		}
		return Layer{}, fmt.Errorf("no profile %q in %s: %s", name, path, known)
	}
	if p.KeyStore != "" && p.KeyStore != StoreFile && p.KeyStore != StoreKeychain {
		return Layer{}, fmt.Errorf("key_store of profile %q in %s: %q is none of %s, %s", name, path, p.KeyStore, StoreFile, StoreKeychain)
	}
	l := Layer{ProfileFile: p, Name: fmt.Sprintf("profile %q", name)}
	var err error
	if l.Dream, err = p.dreamWhen(); err != nil {
		return Layer{}, fmt.Errorf("profile %q in %s: %w", name, path, err)
	}
	if l.Hook, err = p.hookTime(); err != nil {
		return Layer{}, fmt.Errorf("profile %q in %s: %w", name, path, err)
	}
	if l.proposals, err = p.Proposals.rules(l.Name); err != nil {
		return Layer{}, fmt.Errorf("profile %q in %s: %w", name, path, err)
	}
	if p.KeyStore == StoreKeychain {
		l.stored = name
	}
	if l.KeyFile != "" && !filepath.IsAbs(l.KeyFile) {
		l.KeyFile = filepath.Join(filepath.Dir(path), l.KeyFile)
	}
	return l, nil
}

// dreamWhen is when a dream is offered.
func (p ProfileFile) dreamWhen() (w consolidation.DreamWhen, err error) {
	if p.DreamUnits != nil {
		if w.Units = *p.DreamUnits; w.Units < 0 {
			return w, errors.New("dream_units: want a number of units, or 0 for never")
		}
		if w.Units == 0 {
			w.Units = -1
		}
	}
	if p.DreamEvery != nil {
		if w.Every, err = time.ParseDuration(*p.DreamEvery); err != nil || w.Every < 0 {
			return w, errors.New(`dream_every: want a time such as "4h" or "30m", or "0" for never`)
		}
		if w.Every == 0 {
			w.Every = -1
		}
	}
	return w, nil
}

// Bounds of hook_time: harnesses end a hook after 5 s.
const (
	minHook = 100 * time.Millisecond
	maxHook = 4 * time.Second
)

// hookTime is how long a hook may take; 0 is not said.
func (p ProfileFile) hookTime() (d time.Duration, err error) {
	if p.HookTime == "" {
		return 0, nil
	}
	if d, err = time.ParseDuration(p.HookTime); err != nil || d < minHook || d > maxHook {
		return 0, fmt.Errorf(`hook_time: want a time from %q to %q, such as "1s"`, minHook, maxHook)
	}
	return d, nil
}

// maxKeyFile is more than any key file has, in bytes.
const maxKeyFile = 4 << 10

// ReadPrivate reads a small file that nobody but its user may read. What is no
// file, a pipe for example, is nobody's business but the shell's.
func ReadPrivate(what, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case info.IsDir():
		return "", fmt.Errorf("%s %s is a folder", what, path)
	}
	if how, err := files.Exposed(f); err != nil || how != "" {
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return "", fmt.Errorf("%s %s %s, and think about whether the secret in it is still one", what, path, how)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if len(text) > maxKeyFile {
		return "", fmt.Errorf("%s %s is larger than %d bytes: that is something else", what, path, maxKeyFile)
	}
	return string(text), nil
}

// WritePrivate makes a new file that only its user can read. It never writes
// over one.
func WritePrivate(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: keys are never written over", path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path) // half a key is none
		}
	}()
	return files.WritePrivate(f, []byte(text))
}
