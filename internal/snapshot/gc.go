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

// Policy says what retention keeps of each agent. Pinned bundles are kept and
// not counted; the newest verified one, and what it rests on, is always kept.
type Policy struct {
	Keep          int           // bundles that somebody asked for; 0 is no bound
	KeepAutomatic int           // bundles that a program made by itself; 0 is no bound
	MaxAge        time.Duration // 0 is no bound
}

// DefaultPolicy keeps 30 of each sort and none older than 90 days.
func DefaultPolicy() Policy {
	return Policy{Keep: 30, KeepAutomatic: 30, MaxAge: 90 * 24 * time.Hour}
}

// Swept is what retention did for one agent.
type Swept struct {
	Place
	Deleted []string // ids
	// Staging is the number of folders of dead processes that were removed,
	// Litter that of files whose bundle is gone.
	Staging, Litter int
}

// Sweep applies the policy to the lock's agent, oldest first, and removes what
// dead processes left behind.
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
	for _, id := range p.Expired(list, now) {
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

// Expired returns the ids that the policy deletes of an agent's bundles, in the
// order in which to delete them: oldest first, but those that rest on others
// before these. list is as List returns it.
func (p Policy) Expired(list []Info, now time.Time) []string {
	left := slices.Clone(list)
	var expired []string
	// Deleting a child may set its parent free, so go over the list until
	// nothing is found any more.
	for {
		id := p.next(left, now)
		if id == "" {
			return expired
		}
		expired = append(expired, id)
		left = slices.DeleteFunc(left, func(i Info) bool { return i.ID == id })
	}
}

// next returns the oldest bundle that is beyond the policy and may go.
func (p Policy) next(list []Info, now time.Time) string {
	count := map[bool]int{}
	for _, info := range list {
		if !info.Pinned {
			count[info.Automatic()]++
		}
	}
	keep := map[bool]int{false: p.Keep, true: p.KeepAutomatic}
	stay := lastVerified(list)
	for _, info := range slices.Backward(list) {
		auto := info.Automatic()
		over := keep[auto] > 0 && count[auto] > keep[auto]
		old := p.MaxAge > 0 && now.Sub(info.CreatedAt) > p.MaxAge
		if !info.Pinned && (over || old) && info.ID != stay && mayDelete(list, info.ID) == nil {
			return info.ID
		}
	}
	return ""
}

// lastVerified returns the newest verified bundle; what it rests on stays with
// it.
func lastVerified(list []Info) string {
	for _, info := range list {
		if info.Verified() {
			return info.ID
		}
	}
	return ""
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
