package main

import (
	"net/url"
	"slices"
	"strings"

	"engramd/internal/memory/consolidation"
	"engramd/nips/nipae"
)

// settings are what a run goes by, once flags, environment and profile are put
// together.
type settings struct {
	key    keySource
	relays []string // as written, valid relay URLs
	named  bool     // the command line names the relays: those, and no others
	// discovery says what the agent's own list is good for: see discoveries.
	discovery string
	decider   string    // URL; "" is the first that can
	owner     string    // hex; set if the key is the agent's
	agent     string    // hex; set if the key is the owner's
	own       pairOfKey // what is known of the key
	noMirror  bool      // no copy of the memory is kept on this machine
	proposals proposalRules
}

// pairOfKey is the other key of the pair, as the place that names the key has it:
// its owner, or its agent. Both may be "".
type pairOfKey struct{ owner, agent string }

// keySource says where the secret key is: one of the three is set, or none.
type keySource struct {
	file   string // absolute, or relative to the working folder
	inline string // ENGRAM_KEY
	stored string // name in the system's key store
	origin string // for messages
}

// layer is what one place says.
type layer struct {
	name    string
	keyFile string
	key     string
	stored  string // name of the key in the system's key store
	relays  []string
	owner   string
	agent   string
	// discovery is one of discoveries, or ""; decider a relay, or "".
	discovery, decider string
	noMirror           bool
	// embedURL, embedModel and so on name model servers, or are "".
	embedURL, embedModel, rerankURL, rerankModel string
	// mindExec, llmURL and llmModel name who thinks, or are "".
	mindExec, llmURL, llmModel string
	dream                      consolidation.DreamWhen // when one is offered
	proposals                  proposalRules
	attest                     bool // where a session continues from is signed
}

// Where a profile's key lies.
const (
	storeFile     = "file"
	storeKeychain = "keychain"
)

// discoveries are what a profile may say of the relays that an agent lists.
var discoveries = []string{"read", "write", "off"}

// settings puts the layers together: the first that has an answer to a question
// gives it. A profile that the command line names comes before the environment,
// any other after it.
func (e *Env) settings() (settings, error) {
	profile, err := e.profile()
	if err != nil {
		return settings{}, usageError{err}
	}
	flags := layer{name: "the command line", keyFile: e.flags.keyFile, relays: e.flags.relays, owner: e.flags.owner, agent: e.flags.agent}
	if flags.keyFile != "" {
		flags.keyFile = e.path(flags.keyFile)
	}
	layers := []layer{flags, environment(e), profile}
	if e.flags.profile != "" {
		layers[1], layers[2] = layers[2], layers[1]
	}
	return merge(layers, profile)
}

// merge puts the layers together, of which the first is the command line.
func merge(layers []layer, profile layer) (settings, error) {
	s := settings{named: len(layers[0].relays) > 0, discovery: profile.discovery, decider: profile.decider, noMirror: profile.noMirror, proposals: profile.proposals}
	if s.decider != "" {
		if _, err := nipae.CanonicalRelayURL(s.decider); err != nil {
			return settings{}, usagef("decider %q in %s: %w", shownURL(s.decider), profile.name, err)
		}
	}
	if s.discovery != "" && !slices.Contains(discoveries, s.discovery) {
		return settings{}, usagef("discovery in %s: %q is none of %s", profile.name, s.discovery, strings.Join(discoveries, ", "))
	}
	for _, l := range layers {
		if err := s.take(l); err != nil {
			return settings{}, usageError{err}
		}
	}
	return s, nil
}

func environment(e *Env) layer {
	l := layer{name: "the environment", key: e.env["ENGRAM_KEY"], owner: e.env["ENGRAM_OWNER"], agent: e.env["ENGRAM_AGENT"]}
	l.relays = strings.FieldsFunc(e.env["ENGRAM_RELAYS"], func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
	if file := e.env["ENGRAM_KEY_FILE"]; file != "" {
		l.keyFile = e.path(file)
	}
	return l
}

// pair returns the other key of a layer's pair: no key at all if the layer names
// two, or one that is none. Whoever needs it is told then.
func (l layer) pair() pairOfKey {
	owner, err := publicKey("owner", l.name, l.owner)
	agent, err2 := publicKey("agent", l.name, l.agent)
	if err != nil || err2 != nil || owner != "" && agent != "" {
		return pairOfKey{}
	}
	return pairOfKey{owner, agent}
}

// take answers from a layer what is not answered yet.
func (s *settings) take(l layer) error {
	if s.key == (keySource{}) {
		if l.key != "" && l.keyFile != "" {
			return usagef("%s names two keys: unset ENGRAM_KEY or ENGRAM_KEY_FILE", l.name)
		}
		if l.stored != "" && l.keyFile != "" {
			return usagef("%s names two keys: key_file, and key_store = %q", l.name, storeKeychain)
		}
		if l.key != "" || l.keyFile != "" || l.stored != "" {
			s.key = keySource{file: l.keyFile, inline: l.key, stored: l.stored, origin: l.name}
			s.own = l.pair()
		}
	}
	if s.owner == "" && s.agent == "" {
		if l.owner != "" && l.agent != "" {
			return usagef("%s names an owner and an agent: as whom is the memory to be read? Name the owner if the key is the agent's, else the agent", l.name)
		}
		var err error
		if s.owner, err = publicKey("owner", l.name, l.owner); err != nil {
			return err
		}
		if s.agent, err = publicKey("agent", l.name, l.agent); err != nil {
			return err
		}
	}
	if len(s.relays) == 0 {
		for _, relay := range l.relays {
			if _, err := nipae.CanonicalRelayURL(relay); err != nil {
				return usagef("relay %q in %s: %w", shownURL(relay), l.name, err)
			}
		}
		s.relays = l.relays
	}
	return nil
}

// shownURL returns a URL without the password that should not be in it.
func shownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "…"
	}
	return u.Redacted()
}
