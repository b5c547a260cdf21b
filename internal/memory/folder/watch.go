package folder

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch calls changed whenever something in a folder that is not hidden changed,
// until the context ends. It looks from the moment it returns.
func Watch(ctx context.Context, dir string, changed func()) (wait func(), err error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := watchBelow(w, dir); err != nil {
		_ = w.Close()
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer w.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.Errors: // events were lost, perhaps
				changed()
			case ev := <-w.Events:
				if hidden(filepath.Base(ev.Name)) || ev.Op == fsnotify.Chmod {
					continue
				}
				if ev.Has(fsnotify.Create) {
					_ = watchBelow(w, ev.Name) // gone again, or no folder; what is lost the next look finds
				}
				changed()
			}
		}
	}()
	return func() { <-done }, nil
}

// watchBelow watches a folder and those in it; links are not followed.
func watchBelow(w *fsnotify.Watcher, dir string) error {
	if real, err := os.Lstat(dir); err != nil || real.Mode()&fs.ModeSymlink != 0 {
		if dir, err = filepath.EvalSymlinks(dir); err != nil || len(w.WatchList()) > 0 {
			return err
		}
	}
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case p != dir && hidden(filepath.Base(p)):
			return fs.SkipDir
		}
		return w.Add(p)
	})
}

// Settle waits until nothing has come for a while, most at most: an editor
// writes, renames and removes for one saving. It is false if the context ended.
func Settle(ctx context.Context, came <-chan struct{}, quiet, most time.Duration, after func(time.Duration) <-chan time.Time) bool {
	end := after(most)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end:
			return true
		case <-after(quiet):
			return true
		case <-came:
		}
	}
}
