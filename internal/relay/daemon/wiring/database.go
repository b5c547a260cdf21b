package wiring

import (
	"path/filepath"

	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/store/sqlite/engine"
)

// Database says where the database of a data folder is, and what beside it tells
// that there was one.
func Database(dir string) engine.Options {
	return engine.Options{
		Path: engine.File(dir), Mark: engine.MarkFile(dir), Signs: []string{filepath.Join(dir, "tenants")},
		Keys: []string{filepath.Join(dir, keys.FileName), filepath.Join(dir, vault.FileName)},
	}
}
