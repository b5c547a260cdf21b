package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// Missing reports whether an error says that there is no such file: also where a part of
// its path is a file, as below a HOME of /dev/null.
func Missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
