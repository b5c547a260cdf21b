package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"engramd/internal/platform/files"
)

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
