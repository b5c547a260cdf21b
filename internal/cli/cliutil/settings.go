package cliutil

import (
	"strings"

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
	flags := settings.Layer{Name: "the command line", KeyFile: e.Flags.KeyFile, Relays: e.Flags.Relays, Owner: e.Flags.Owner, Agent: e.Flags.Agent}
	if flags.KeyFile != "" {
		flags.KeyFile = e.Path(flags.KeyFile)
	}
	layers := []settings.Layer{flags, Environment(e), profile}
	if e.Flags.Profile != "" {
		layers[1], layers[2] = layers[2], layers[1]
	}
	return settings.Merge(layers, profile)
}

func Environment(e *Env) settings.Layer {
	l := settings.Layer{Name: "the environment", Key: e.Vars["ENGRAM_KEY"], Owner: e.Vars["ENGRAM_OWNER"], Agent: e.Vars["ENGRAM_AGENT"]}
	l.Relays = strings.FieldsFunc(e.Vars["ENGRAM_RELAYS"], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if file := e.Vars["ENGRAM_KEY_FILE"]; file != "" {
		l.KeyFile = e.Path(file)
	}
	return l
}
