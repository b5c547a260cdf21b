package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/snapshot/bundle"
)

// Swept is what retention did for one agent.
type Swept struct {
	Place
	Deleted []string // ids
	Damaged []string // those that were found to be other files than were verified
	// Staging is the number of folders of dead processes that were removed,
	// Litter that of files whose bundle is gone.
	Staging, Litter int
}

// Sweep applies the policy to the lock's agent, oldest first, and removes what
// dead processes left behind. Before it deletes anything it reads the newest
// verified bundle that stays: one that was damaged since does not count as
// verified any more.
func (l *Lock) Sweep(now time.Time, p Policy) (Swept, error) {
	out := Swept{Place: Place{l.tenant, l.agent}}
	dir, err := l.s.Dir(l.tenant, l.agent)
	if err != nil {
		return out, err
	}
	var errs []error
	if out.Staging, err = bundle.SweepStaging(dir, now); err != nil {
		errs = append(errs, err)
	}
	list, err := l.s.List(l.tenant, l.agent)
	if err != nil {
		return out, errors.Join(append(errs, err)...)
	}
	expired, damaged, err := l.expired(list, now, p)
	out.Damaged = damaged
	if err != nil {
		return out, errors.Join(append(errs, err)...)
	}
	for _, id := range expired {
		if err := remove(list, id); err != nil {
			errs = append(errs, err)
			continue
		}
		out.Deleted = append(out.Deleted, id)
	}
	if out.Litter, err = sweepLitter(dir); err != nil {
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// expired is Expired, of a list in which the last verified one is as it was
// written. It names those that are not.
func (l *Lock) expired(list []Info, now time.Time, p Policy) (ids, damaged []string, err error) {
	for {
		ids = p.Expired(list, now)
		last := lastVerified(list, now)
		if len(ids) == 0 || last == "" {
			return ids, damaged, nil
		}
		if whole, err := l.confirm(list, last, now); whole || err != nil {
			return ids, damaged, err
		}
		damaged = append(damaged, last)
	}
}

// confirm reports whether a verified bundle, and what it rests on, are as they
// were when they were written. If not it is verified no more, in the list too.
func (l *Lock) confirm(list []Info, id string, now time.Time) (bool, error) {
	i := slices.IndexFunc(list, func(i Info) bool { return i.ID == id })
	for at := i; ; {
		info := list[at]
		sum := fileHash(info.Path)
		if sum == "" || sum != info.sum() || info.SHA256 != "" && sum != info.SHA256 {
			break
		}
		if info.Parent == "" {
			return true, nil
		}
		if at = slices.IndexFunc(list, func(i Info) bool { return i.ID == info.Parent }); at < 0 {
			break
		}
	}
	err := l.damaged(list[i], now)
	list[i].VerifiedAt = time.Time{}
	return false, err
}

// fileHash returns the SHA-256 of a file, in hex; "" if it cannot be read.
func fileHash(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sweepLitter removes hashes and records without their bundle, which a crash
// between two files leaves.
func sweepLitter(dir string) (int, error) {
	files, err := names(dir)
	if err != nil {
		return 0, err
	}
	n := 0
	var errs []error
	for _, name := range files {
		if !isLitter(name, files) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			errs = append(errs, fmt.Errorf("snapshots: %w", err))
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}

// isLitter reports whether a file belongs to a bundle that is not there. What
// has no name that the store gives is left alone.
func isLitter(name string, files []string) bool {
	if of, ok := strings.CutSuffix(name, bundle.SumExtension); ok {
		_, _, ours := bundle.IDOf(of)
		return ours && !slices.Contains(files, of)
	}
	id, ok := strings.CutSuffix(name, recordExtension)
	if !ok {
		return false
	}
	if hidden, ok := strings.CutPrefix(id, "."); ok {
		return bundle.CheckID(hidden) == nil // a record that was being written
	}
	return bundle.CheckID(id) == nil &&
		!slices.Contains(files, bundle.FileName(id, false)) && !slices.Contains(files, bundle.FileName(id, true))
}

// copyNew copies to a file that must not exist, syncs it and returns its
// SHA-256.
func copyNew(path string, src io.Reader) (string, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), src)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(path)
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
