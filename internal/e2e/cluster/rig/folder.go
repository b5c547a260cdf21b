package rig

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
)

// Holds returns the files of the servers in which a text is.
func (r *Rig) Holds(text string) (files []string, err error) {
	for _, s := range r.servers {
		err := filepath.WalkDir(filepath.Join(s.dir, "data"), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil // it went while we looked
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if os.IsNotExist(err) {
				return nil
			}
			if bytes.Contains(content, []byte(text)) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
