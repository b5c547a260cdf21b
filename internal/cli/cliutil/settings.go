package cliutil

import (
	"cmp"
	"engramd/internal/platform/files"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
)

// Settings puts the layers together: the first that has an answer to a question
// gives it. A profile that the command line names comes before the environment,
// any other after it.
func (e *Env) Settings() (settings.Settings, error) {
	profile, err := e.Profile()
	if err != nil {
		return settings.Settings{}, exit.BadUsage(err)
	}
	flags := settings.Layer{Name: "the command line", ProfileFile: settings.ProfileFile{KeyFile: e.Flags.KeyFile, Relays: e.Flags.Relays, Owner: e.Flags.Owner, Agent: e.Flags.Agent}}
	if flags.KeyFile != "" {
		flags.KeyFile = e.Path(flags.KeyFile)
	}
	layers := []settings.Layer{flags, Environment(e), profile}
	if e.Flags.Profile != "" {
		layers[1], layers[2] = layers[2], layers[1]
	}
	return settings.Merge(layers, profile)
}

// Environment returns the layer of the environment's variables.
func Environment(e *Env) settings.Layer {
	l := settings.Layer{Name: "the environment", Key: e.Vars["ENGRAM_KEY"], ProfileFile: settings.ProfileFile{Owner: e.Vars["ENGRAM_OWNER"], Agent: e.Vars["ENGRAM_AGENT"]}}
	l.Relays = strings.FieldsFunc(e.Vars["ENGRAM_RELAYS"], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if file := e.Vars["ENGRAM_KEY_FILE"]; file != "" {
		l.KeyFile = e.Path(file)
	}
	return l
}

// Profile returns the layer of the profile in use, an empty one if there is
// none.
func (e *Env) Profile() (settings.Layer, error) {
	path, file, err := e.Profiles()
	if err != nil {
		return settings.Layer{}, err
	}
	name := e.ProfileName(file)
	if name == "" {
		return settings.Layer{}, nil
	}
	return file.Layer(name, path)
}

// ProfileName is the name of the profile in use, "" for none.
func (e *Env) ProfileName(file settings.Profiles) string {
	return cmp.Or(e.Flags.Profile, e.Vars["ENGRAM_PROFILE"], file.Profile)
}

// Profiles reads the configuration file. One that is not named need not be
// there.
func (e *Env) Profiles() (path string, file settings.Profiles, err error) {
	path, named := e.ConfigPath()
	text, err := os.ReadFile(path)
	if files.Missing(err) && !named {
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
		return path, file, fmt.Errorf("%s: unknown key %q: a profile has key_file, key_store, relays, owner, agent, name, discovery, decider, no_mirror, embed, embed_url, embed_model, rerank_url, rerank_model, mind_exec, llm_url, llm_model, dream_units, dream_every, attest, hook_time and proposals (owner, from)", path, unknown[0].String())
	}
	return path, file, nil
}

// ConfigPath returns where the configuration file is, and whether somebody said
// so.
func (e *Env) ConfigPath() (path string, named bool) {
	if e.Flags.Config != "" {
		return e.Path(e.Flags.Config), true
	}
	if e.Vars["ENGRAM_CONFIG"] != "" {
		return e.Path(e.Vars["ENGRAM_CONFIG"]), true
	}
	base := e.Vars["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(base) { // the XDG specification has relative ones ignored
		base = filepath.Join(e.Home(), ".config")
	}
	return filepath.Join(base, "engramd", "engramctl.toml"), false
}

// CompleteProfiles offers the names of profiles to a shell.
func CompleteProfiles(e *Env) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		_, file, err := e.Profiles()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.Sorted(maps.Keys(file.Profiles)), cobra.ShellCompDirectiveNoFileComp
	}
}
