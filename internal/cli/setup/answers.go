package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/terminal"
	"engramd/nips/nipae"
)

// answers finds out what is to be done, and asks for what nothing says. Nothing is
// written before it has all.
func (s *setup) answers(ctx context.Context) error {
	for _, find := range []func(context.Context) error{s.findKey, s.findOwner, s.findRelays, s.findWriters, s.findHarnesses, s.fits, s.confirm} {
		if err := find(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether the answers go with the profile that is there.
func (s *setup) fits(context.Context) error {
	if _, err := missingKeys(s.old, s.want); err != nil {
		return exit.Usagef("profile %q in %s %w: change it by hand, or name another with --profile", s.name, s.config, err)
	}
	return nil
}

// findKey says where the agent's key is to be: as the flags say, or the profile, or
// the environment.
func (s *setup) findKey(context.Context) error {
	dir := filepath.Dir(s.config)
	old := s.old.KeyFile
	if old != "" && !filepath.IsAbs(old) {
		old = filepath.Join(dir, old)
	}
	switch {
	case s.f.keyStore == settings.StoreKeychain && s.env.Flags.KeyFile != "":
		return exit.Usagef("--key-store %s and --key-file name two places for the key", settings.StoreKeychain)
	case s.old.KeyStore == settings.StoreKeychain && (s.f.keyStore == settings.StoreFile || s.env.Flags.KeyFile != ""):
		return exit.Usagef("profile %q in %s has its key in the key store: name another profile with --profile", s.name, s.config)
	case s.f.keyStore == settings.StoreKeychain || s.old.KeyStore == settings.StoreKeychain:
		if s.old.KeyFile != "" {
			return exit.Usagef("profile %q in %s has its key in a file: name another profile with --profile", s.name, s.config)
		}
		s.want.KeyStore = settings.StoreKeychain
	case s.env.Flags.KeyFile != "":
		s.keyFile = s.env.Path(s.env.Flags.KeyFile)
	case s.old.KeyFile != "":
		s.keyFile = old
	case s.env.Vars["ENGRAM_KEY_FILE"] != "":
		s.keyFile = s.env.Path(s.env.Vars["ENGRAM_KEY_FILE"])
	default:
		s.keyFile = filepath.Join(dir, s.name+".key")
	}
	if s.keyFile == "" {
		return nil
	}
	var err error
	if s.keyFile, err = filepath.Abs(s.keyFile); err != nil {
		return err
	}
	if s.want.KeyFile = s.keyFile; filepath.Dir(s.keyFile) == dir {
		s.want.KeyFile = filepath.Base(s.keyFile)
	}
	if s.keyFile == old {
		s.want.KeyFile = s.old.KeyFile
	}
	if s.env.Vars["ENGRAM_KEY"] != "" {
		s.env.Note("ENGRAM_KEY is set: where it is, it is used in place of the profile's key")
	}
	return nil
}

// findOwner says whose agent it is; with a key to be made, that is known later.
func (s *setup) findOwner(ctx context.Context) error {
	if s.f.newOwner {
		return nil
	}
	text, where := s.f.owner, "--owner"
	if text == "" {
		text, where = s.old.Owner, "profile "+s.name
	}
	if text == "" {
		text, where = s.env.Vars["ENGRAM_OWNER"], "ENGRAM_OWNER"
	}
	if text == "" {
		var err error
		text, err = s.ask(ctx, "Your public key (npub1…), or Enter to make you one: ", "--owner NPUB or --new-owner")
		if err != nil {
			return err
		}
		if where = "your answer"; text == "" {
			s.f.newOwner = true
			return nil
		}
	}
	key, err := settings.PublicKey("owner", where, text)
	if err != nil {
		return err
	}
	s.want.Owner = settings.Npub(key)
	if sameKey(s.old.Owner, s.want.Owner) {
		s.want.Owner = s.old.Owner
	}
	return nil
}

// findRelays says where the memory is kept.
func (s *setup) findRelays(ctx context.Context) error {
	if s.f.local {
		return nil
	}
	relays := s.env.Flags.Relays
	if len(relays) == 0 {
		relays = s.old.Relays
	}
	if len(relays) == 0 {
		relays = cliutil.Environment(s.env).Relays
	}
	if len(relays) == 0 {
		text, err := s.ask(ctx, "The relay (wss://…), or Enter to run one on this machine: ", "--relay URL or --local")
		if err != nil {
			return err
		}
		if relays = strings.Fields(text); len(relays) == 0 {
			s.f.local = true
			return nil
		}
	}
	for _, relay := range relays {
		if _, err := nipae.CanonicalRelayURL(relay); err != nil {
			return exit.Usagef("relay %q: %w", settings.ShownURL(relay), err)
		}
	}
	s.want.Relays = relays
	return nil
}

// confirm asks whether to go on, once everything is known.
func (s *setup) confirm(ctx context.Context) error {
	if s.f.yes || s.f.dryRun {
		return nil
	}
	what := "no harness: none is named, and none was found"
	if len(s.harnesses) > 0 {
		what = strings.Join(s.harnesses, ", ")
	}
	answer, err := s.ask(ctx, "Profile "+s.name+" in "+s.config+"; settings of "+what+". Go on? [Y/n] ", "--yes (or --dry-run)")
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "", "y", "yes":
		return nil
	}
	return exit.Usagef("nothing was done")
}

// ask asks the person at the terminal; flags are what answers without one.
func (s *setup) ask(ctx context.Context, prompt, flags string) (string, error) {
	missing := exit.Usagef("an answer is missing, and there is nobody to ask: give %s", flags)
	if s.f.yes || s.f.dryRun || s.env.Terminal.Line == nil || !s.env.Terminal.Stdin {
		return "", missing
	}
	text, err := s.env.Terminal.Line(ctx, prompt)
	if errors.Is(err, terminal.ErrNoTerminal) {
		return "", missing
	}
	return strings.TrimSpace(text), err
}

// IsThere reports whether there is something at a path.
func IsThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
