package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/platform/files"
	"engramd/internal/platform/pattern"
)

// profileName is what a profile that setup writes may be called: it stands on
// command lines in the settings of harnesses.
var profileName = pattern.Later(`^[A-Za-z0-9_-]{1,64}$`)

// inlineProfiles is a table that TOML does not let others add to, though our own
// reader does.
var inlineProfiles = pattern.Later(`(?m)^[ \t]*["']?profiles["']?[ \t]*=`)

// withProfile returns the text of a configuration file with what a profile says,
// every other byte as it was: a profile that is there gets the keys that it lacks.
// Of a file without profiles the new one becomes the default.
func withProfile(text, name string, want settings.ProfileFile) (string, error) {
	var before settings.Profiles
	if _, err := toml.Decode(text, &before); err != nil {
		return "", errors.New("it is not valid TOML")
	}
	old, there := before.Profiles[name]
	lines, err := missingKeys(old, want)
	if err != nil {
		return "", fmt.Errorf("profile %q %w: change it by hand, or name another with --profile", name, err)
	}
	if len(lines) == 0 && there {
		return text, nil
	}
	eol := "\n"
	if strings.Contains(text, "\r\n") {
		eol = "\r\n"
	}
	block := strings.Join(lines, eol) + eol
	out, done := text, false
	if there {
		out, done = underHeader(text, name, block)
	} else {
		bom := ""
		if rest, has := strings.CutPrefix(text, "\uFEFF"); has {
			bom, out = "\uFEFF", rest
		}
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += eol
		}
		if before.Profile == "" && len(before.Profiles) == 0 {
			out = "profile = " + strconv.Quote(name) + eol + out
		}
		out, done = bom+out+eol+"[profiles."+name+"]"+eol+block, true
	}
	if !done || inlineProfiles().MatchString(text) || !says(out, before, name, want) {
		return "", fmt.Errorf("its profiles are not tables of their own, so that setup does not change it: add to profile %q by hand\n%s", name, strings.Join(lines, "\n"))
	}
	return out, nil
}

// missingKeys are the lines by which a profile comes to say what it should. The
// error says what it says otherwise.
func missingKeys(old, want settings.ProfileFile) (lines []string, err error) {
	for _, k := range []struct{ name, old, want string }{
		{"key_file", old.KeyFile, want.KeyFile}, {"key_store", old.KeyStore, want.KeyStore}, {"owner", old.Owner, want.Owner}, {"name", old.Name, want.Name},
		{"proposals.owner", old.Proposals.Owner, want.Proposals.Owner},
	} {
		switch {
		case k.want == "" || k.want == k.old || k.name == "owner" && sameKey(k.want, k.old):
		case k.old != "":
			return nil, fmt.Errorf("has another %s", k.name)
		default:
			lines = append(lines, k.name+" = "+strconv.Quote(k.want))
		}
	}
	switch {
	case len(want.Relays) == 0 || reflect.DeepEqual(old.Relays, want.Relays):
	case len(old.Relays) > 0:
		return nil, errors.New("has other relays")
	default:
		var quoted []string
		for _, r := range want.Relays {
			quoted = append(quoted, strconv.Quote(r))
		}
		lines = append(lines, "relays = ["+strings.Join(quoted, ", ")+"]")
	}
	return lines, nil
}

// underHeader puts lines behind the header of a profile's table.
func underHeader(text, name, block string) (string, bool) {
	quoted := regexp.QuoteMeta(name)
	header := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*profiles[ \t]*\.[ \t]*(?:` + quoted + `|"` + quoted + `"|'` + quoted + `')[ \t]*\][^\n]*(\n|\z)`)
	at := header.FindStringIndex(text)
	if at == nil {
		return "", false
	}
	before := text[:at[1]]
	if !strings.HasSuffix(before, "\n") {
		before += "\n"
	}
	return before + block + text[at[1]:], true
}

// says reports whether a changed file says what it said, and the profile what it
// should.
func says(text string, before settings.Profiles, name string, want settings.ProfileFile) bool {
	var after settings.Profiles
	if meta, err := toml.Decode(text, &after); err != nil || len(meta.Undecoded()) > 0 {
		return false
	}
	if before.Profile != "" && after.Profile != before.Profile {
		return false
	}
	if lines, err := missingKeys(after.Profiles[name], want); err != nil || len(lines) > 0 {
		return false
	}
	others := func(p settings.Profiles) map[string]settings.ProfileFile {
		all := maps.Clone(p.Profiles)
		delete(all, name)
		if len(all) == 0 {
			return nil
		}
		return all
	}
	return reflect.DeepEqual(others(before), others(after))
}

// sameKey reports whether two texts are one public key.
func sameKey(a, b string) bool {
	ka, errA := settings.PublicKey("", "", a)
	kb, errB := settings.PublicKey("", "", b)
	return errA == nil && errB == nil && ka == kb
}

// replaceFile writes a file anew, as a whole: whoever reads it sees the old text or
// the new one. A symbolic link stays one, and the mode of a file that is there.
func replaceFile(path, text string, mode os.FileMode) (err error) {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("%s is as it was: %w", path, err)
		}
	}()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(path))
}

// keepPrivate is writePrivate in a folder that is made if need be. The name lasts
// before a profile can say that the key is there.
func keepPrivate(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := settings.WritePrivate(path, text); err != nil {
		return err
	}
	return files.SyncDir(filepath.Dir(path))
}

// writeProfile writes the profile into the configuration file.
func (s *setup) writeProfile(context.Context) error {
	before, err := fileText(s.config)
	if err != nil {
		return exit.BadUsage(err)
	}
	if s.f.newOwner && s.old.Owner == "" {
		s.want.Proposals.Owner = "accept" // a new profile: who makes both keys here is one person's machine
	}
	after, err := withProfile(before, s.name, s.want)
	if err != nil {
		return exit.Usagef("%s: %w", s.config, err)
	}
	if before == after {
		return s.step("profile", "%s is in %s", s.name, s.config)
	}
	if err := s.write(s.config, before, after, 0o600); err != nil {
		return exit.BadUsage(err)
	}
	return s.step("profile", "%s %s %s", s.name, s.would("written to", "be written to"), s.config)
}
