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
		err := filepath.WalkDir(s.data(), func(path string, d fs.DirEntry, err error) error {
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

// Off ends all servers, and On starts them and waits until they have a leader.
func (r *Rig) Off() {
	for i := range r.servers {
		r.Kill(i)
	}
}

// On is the opposite of Off.
func (r *Rig) On() {
	r.t.Helper()
	for i := range r.servers {
		r.Start(i)
	}
	r.Settle()
}

// Keep copies what the servers have stored, which do not run, and returns what
// puts the copy in its place.
func (r *Rig) Keep() (back func()) {
	r.t.Helper()
	kept := r.t.TempDir()
	for _, s := range r.servers {
		if err := os.CopyFS(filepath.Join(kept, s.name), os.DirFS(s.data())); err != nil {
			r.t.Fatalf("%v", err)
		}
	}
	return func() {
		r.t.Helper()
		for _, s := range r.servers {
			data := s.data()
			err := os.RemoveAll(data)
			if err == nil {
				err = os.CopyFS(data, os.DirFS(filepath.Join(kept, s.name)))
			}
			if err != nil {
				r.t.Fatalf("%v", err)
			}
		}
	}
}
