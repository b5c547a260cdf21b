package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"engramd/internal/memory/consolidation"
)

// profiles is the configuration file.
type profiles struct {
	// Profile is the name of the one that counts if none is named.
	Profile  string                 `toml:"profile"`
	Profiles map[string]profileFile `toml:"profiles"`
}

// profileFile is one profile as it stands in the file.
type profileFile struct {
	KeyFile string `toml:"key_file"` // relative to the folder of the configuration file
	// KeyStore is keychain where the key lies in the system's own store, under the
	// profile's name.
	KeyStore string   `toml:"key_store"`
	Relays   []string `toml:"relays"`
	Owner    string   `toml:"owner"`
	Agent    string   `toml:"agent"`
	// Decider is the relay that decides writes with a base.
	Decider string `toml:"decider"`
	// Discovery says whether relays that the agent lists are asked too (read),
	// written to as well (write), or not looked for (off).
	Discovery string `toml:"discovery"`
	// NoMirror keeps no copy of the memory on this machine.
	NoMirror bool `toml:"no_mirror"`
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
	// Proposals say what becomes of what others propose.
	Proposals proposalsFile `toml:"proposals"`
	// Attest signs at the start of each session where it continues from.
	Attest bool `toml:"attest"`
}

// profile returns the layer of the profile in use, an empty one if there is
// none.
func (e *Env) profile() (layer, error) {
	name := e.flags.profile
	if name == "" {
		name = e.env["ENGRAM_PROFILE"]
	}
	path, file, err := e.readProfiles()
	if err != nil {
		return layer{}, err
	}
	if name == "" {
		name = file.Profile
	}
	if name == "" {
		return layer{}, nil
	}
	return file.layer(name, path)
}

// layer returns what the profile of that name says in the file at a path.
func (file profiles) layer(name, path string) (layer, error) {
	p, ok := file.Profiles[name]
	if !ok {
		known := "it has none"
		if len(file.Profiles) > 0 {
			known = "it has " + strings.Join(slices.Sorted(maps.Keys(file.Profiles)), ", ")
		}
		return layer{}, fmt.Errorf("no profile %q in %s: %s", name, path, known)
	}
	if p.KeyStore != "" && p.KeyStore != storeFile && p.KeyStore != storeKeychain {
		return layer{}, fmt.Errorf("key_store of profile %q in %s: %q is none of %s, %s", name, path, p.KeyStore, storeFile, storeKeychain)
	}
	l := layer{name: fmt.Sprintf("profile %q", name), relays: p.Relays, owner: p.Owner, agent: p.Agent, keyFile: p.KeyFile, discovery: p.Discovery, decider: p.Decider, noMirror: p.NoMirror, attest: p.Attest, embedURL: p.EmbedURL, embedModel: p.EmbedModel, rerankURL: p.RerankURL, rerankModel: p.RerankModel, mindExec: p.MindExec, llmURL: p.LLMURL, llmModel: p.LLMModel}
	var err error
	if l.dream, err = p.dreamWhen(); err != nil {
		return layer{}, fmt.Errorf("profile %q in %s: %w", name, path, err)
	}
	if l.proposals, err = p.Proposals.rules(l.name); err != nil {
		return layer{}, fmt.Errorf("profile %q in %s: %w", name, path, err)
	}
	if p.KeyStore == storeKeychain {
		l.stored = name
	}
	if l.keyFile != "" && !filepath.IsAbs(l.keyFile) {
		l.keyFile = filepath.Join(filepath.Dir(path), l.keyFile)
	}
	return l, nil
}

// dreamWhen is when a dream is offered.
func (p profileFile) dreamWhen() (w consolidation.DreamWhen, err error) {
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

// readProfiles reads the configuration file. One that is not named need not be
// there.
func (e *Env) readProfiles() (path string, file profiles, err error) {
	path, named := e.configPath()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return path, file, nil
	}
	if err != nil {
		return path, file, fmt.Errorf("configuration: %w", err)
	}
	meta, err := toml.Decode(string(text), &file)
	var parse toml.ParseError
	switch {
	case errors.As(err, &parse):
		// Not the text around it: somebody may have put a key there.
		return path, file, fmt.Errorf("%s: line %d: not valid TOML, or of the wrong type", path, parse.Position.Line)
	case err != nil:
		return path, file, fmt.Errorf("%s: not a configuration: a value has the wrong type", path)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return path, file, fmt.Errorf("%s: unknown key %q: a profile has key_file, key_store, relays, owner, agent, discovery, decider, no_mirror, embed_url, embed_model, rerank_url, rerank_model, mind_exec, llm_url, llm_model, dream_units, dream_every, attest and proposals (owner, from)", path, unknown[0].String())
	}
	return path, file, nil
}

// configPath returns where the configuration file is, and whether somebody said
// so.
func (e *Env) configPath() (path string, named bool) {
	if e.flags.config != "" {
		return e.path(e.flags.config), true
	}
	if e.env["ENGRAM_CONFIG"] != "" {
		return e.path(e.env["ENGRAM_CONFIG"]), true
	}
	base := e.env["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(base) { // the XDG specification has relative ones ignored
		base = filepath.Join(e.home(), ".config")
	}
	return filepath.Join(base, "engramd", "engramctl.toml"), false
}

// completeProfiles offers the names of profiles to a shell.
func completeProfiles(e *Env, _ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	_, file, err := e.readProfiles()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return slices.Sorted(maps.Keys(file.Profiles)), cobra.ShellCompDirectiveNoFileComp
}
