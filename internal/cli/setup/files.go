package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/platform/files"
)

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
