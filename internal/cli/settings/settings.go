// Package settings puts command line, environment and profile together, and reads
// keys and profiles as people write them.
package settings

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"engramd/internal/cli/exit"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/proposals"
	"engramd/nips/nipae"
)

// Settings are what a run goes by, once flags, environment and profile are put
// together.
type Settings struct {
	Key    KeySource
	Relays []string // as written, valid relay URLs
	Named  bool     // the command line names the relays: those, and no others
	// Discovery says what the agent's own list is good for: see discoveries.
	Discovery string
	Decider   string    // URL; "" is the first that can
	Owner     string    // hex; set if the key is the agent's
	Agent     string    // hex; set if the key is the owner's
	Own       pairOfKey // what is known of the key
	NoMirror  bool      // no copy of the memory is kept on this machine
	Proposals proposalRules
}

// pairOfKey is the other key of the pair, as the place that names the key has it:
// its owner, or its agent. Both may be "".
type pairOfKey struct{ Owner, Agent string }

// KeySource says where the secret key is: one of the three is set, or none.
type KeySource struct {
	File   string // absolute, or relative to the working folder
	Inline string // ENGRAM_KEY
	Stored string // name in the system's key store
	Origin string // for messages
}

// Layer is what one place says; but for a profile, of few things.
type Layer struct {
	ProfileFile
	Name      string
	Key       string
	stored    string                  // name of the key in the system's key store
	Dream     consolidation.DreamWhen // when one is offered
	Hook      time.Duration           // how long a hook may take; 0 is not said
	proposals proposalRules
}

// Where a profile's key lies.
const (
	StoreFile     = "file"
	StoreKeychain = "keychain"
)

// discoveries are what a profile may say of the relays that an agent lists.
var discoveries = []string{"read", "write", "off"}

// Merge puts the layers together, of which the first is the command line.
func Merge(layers []Layer, profile Layer) (Settings, error) {
	s := Settings{Named: len(layers[0].Relays) > 0, Discovery: profile.Discovery, Decider: profile.Decider, NoMirror: profile.NoMirror, Proposals: profile.proposals}
	if s.Decider != "" {
		if _, err := nipae.CanonicalRelayURL(s.Decider); err != nil {
			return Settings{}, exit.Usagef("decider %q in %s: %w", ShownURL(s.Decider), profile.Name, err)
		}
	}
	if s.Discovery != "" && !slices.Contains(discoveries, s.Discovery) {
		return Settings{}, exit.Usagef("discovery in %s: %q is none of %s", profile.Name, s.Discovery, strings.Join(discoveries, ", "))
	}
	for _, l := range layers {
		if err := s.take(l); err != nil {
			return Settings{}, exit.BadUsage(err)
		}
	}
	return s, nil
}

// pair returns the other key of a layer's pair: no key at all if the layer names
// two, or one that is none. Whoever needs it is told then.
func (l Layer) pair() pairOfKey {
	owner, err := PublicKey("owner", l.Name, l.Owner)
	agent, err2 := PublicKey("agent", l.Name, l.Agent)
	if err != nil || err2 != nil || owner != "" && agent != "" {
		return pairOfKey{}
	}
	return pairOfKey{owner, agent}
}

// take answers from a layer what is not answered yet.
func (s *Settings) take(l Layer) error {
	if s.Key == (KeySource{}) {
		if l.Key != "" && l.KeyFile != "" {
			return exit.Usagef("%s names two keys: unset ENGRAM_KEY or ENGRAM_KEY_FILE", l.Name)
		}
		if l.stored != "" && l.KeyFile != "" {
			return exit.Usagef("%s names two keys: key_file, and key_store = %q", l.Name, StoreKeychain)
		}
		if l.Key != "" || l.KeyFile != "" || l.stored != "" {
			s.Key = KeySource{File: l.KeyFile, Inline: l.Key, Stored: l.stored, Origin: l.Name}
			s.Own = l.pair()
		}
	}
	if s.Owner == "" && s.Agent == "" {
		if l.Owner != "" && l.Agent != "" {
			return exit.Usagef("%s names an owner and an agent: as whom is the memory to be read? Name the owner if the key is the agent's, else the agent", l.Name)
		}
		var err error
		if s.Owner, err = PublicKey("owner", l.Name, l.Owner); err != nil {
			return err
		}
		if s.Agent, err = PublicKey("agent", l.Name, l.Agent); err != nil {
			return err
		}
	}
	if len(s.Relays) == 0 {
		for _, relay := range l.Relays {
			if _, err := nipae.CanonicalRelayURL(relay); err != nil {
				return exit.Usagef("relay %q in %s: %w", ShownURL(relay), l.Name, err)
			}
		}
		s.Relays = l.Relays
	}
	return nil
}

// ShownURL returns a URL without the password that should not be in it.
func ShownURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "…"
	}
	return u.Redacted()
}

// proposalsFile is what a profile says of proposals.
type proposalsFile struct {
	// Owner is ask or accept: whether the owner's are accepted unasked.
	Owner string `toml:"owner"`
	// From are other agents whose proposals are read, and what this one calls them;
	// "" is the first digits of the key.
	From map[string]string `toml:"from"`
}

// What becomes of the owner's proposals.
const (
	ownerAsk    = "ask"
	ownerAccept = "accept"
)

// proposalRules are proposalsFile, understood.
type proposalRules struct {
	Accept bool // the owner's are accepted at the start of a server, and of a session
	Listed []proposals.Listed
}

// rules reads what a profile says. The errors name the key of the file.
func (f proposalsFile) rules(where string) (r proposalRules, err error) {
	switch f.Owner {
	case "", ownerAsk:
	case ownerAccept:
		r.Accept = true
	default:
		return r, fmt.Errorf("proposals.owner: %q is none of %s, %s", f.Owner, ownerAsk, ownerAccept)
	}
	if len(f.From) > proposals.MaxListed {
		return r, fmt.Errorf("proposals.from: at most %d keys", proposals.MaxListed)
	}
	for _, given := range slices.Sorted(maps.Keys(f.From)) {
		key, err := PublicKey("proposals.from", where, given)
		if err != nil {
			return r, err
		}
		if key == "" {
			return r, fmt.Errorf("proposals.from: a key is empty")
		}
		r.Listed = append(r.Listed, proposals.Listed{Key: key, Name: f.From[given]})
	}
	return r, nil
}
