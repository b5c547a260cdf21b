package setup

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/nips/nipae"
)

// aboutKeys is what a person is told before the first question.
const aboutKeys = "A key signs and opens a memory: who has it has the memory, and nobody can make it again. Keep a copy of each where you keep passwords, not on this machine alone.\n"

// answers finds out what is to be done, and asks for what nothing says. Nothing is
// written before it has all.
func (s *setup) answers(ctx context.Context) error {
	if s.Answers() {
		if err := s.env.Print(aboutKeys); err != nil {
			return err
		}
	}
	for _, find := range []func(context.Context) error{s.findKey, s.findOwner, s.findPassword, s.findRelays, s.findWriters, s.Find, s.FindServer, s.findName, s.FindAllow, s.FindBuiltin, s.fits, s.confirm} {
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
	take := func(where, text string) error {
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
	for _, from := range [][2]string{{s.f.owner, "--owner"}, {s.old.Owner, "profile " + s.name}, {s.env.Vars["ENGRAM_OWNER"], "ENGRAM_OWNER"}} {
		if from[0] != "" {
			return take(from[1], from[0])
		}
	}
	return s.Until(ctx, "Your public key (npub1…), or Enter to make you one: ", "--owner NPUB or --new-owner", func(text string) error {
		if s.f.newOwner = text == ""; s.f.newOwner {
			return nil
		}
		return take("your answer", text)
	})
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
	take := func(relays []string) error {
		for _, relay := range relays {
			if _, err := nipae.CanonicalRelayURL(relay); err != nil {
				return exit.Usagef("relay %q: %w", settings.ShownURL(relay), err)
			}
		}
		s.want.Relays = relays
		return nil
	}
	if len(relays) > 0 {
		return take(relays)
	}
	return s.Until(ctx, "The relay (wss://…), or Enter to run one on this machine: ", "--relay URL or --local", func(text string) error {
		s.f.local = text == ""
		return take(strings.Fields(text))
	})
}

// confirm asks whether to go on, once everything is known.
func (s *setup) confirm(ctx context.Context) error {
	if s.f.yes || s.f.dryRun {
		return nil
	}
	what := "no harness: none is named, and none was found"
	if len(s.Names) > 0 {
		what = strings.Join(s.Names, ", ")
	}
	if !s.Answers() {
		return s.Missing("--yes (or --dry-run)")
	}
	goOn, err := s.Agrees(ctx, "Profile "+s.name+" in "+s.config+"; settings of "+what+". Go on?", true)
	if err == nil && !goOn {
		err = exit.Usagef("nothing was done")
	}
	return err
}

// IsThere reports whether there is something at a path.
func IsThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
