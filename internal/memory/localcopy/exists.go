package localcopy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Exists reports whether a folder has a copy of a pair: whoever has one thing
// to note need not begin a copy for that.
func Exists(p Pair, dir string) (bool, error) {
	keys, err := keysOf(p)
	if err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join(dir, keys.name+".mirror"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
