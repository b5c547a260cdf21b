package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/snapshot/bundle"
)

// Create writes a bundle of the lock's agent and records that it was verified
// when it was written. Tenant and Agent of the options are the lock's. Errors
// are those of bundle.Write.
func (l *Lock) Create(ctx context.Context, src bundle.Source, o bundle.Options) (Info, *bundle.Written, error) {
	dir, err := l.s.Dir(l.tenant, l.agent)
	if err != nil {
		return Info{}, nil, err
	}
	o.Tenant, o.Agent = l.tenant, l.agent
	w, err := bundle.Write(ctx, dir, src, o)
	if err != nil {
		return Info{}, nil, err
	}
	record := recordOf(w.Manifest, w.SHA256, o.CreatedAt)
	if err := writeRecord(dir, w.ID, record); err != nil {
		return Info{}, nil, err
	}
	info, err := l.s.Find(l.tenant, l.agent, w.ID)
	return info, w, err
}

func recordOf(m *bundle.Manifest, sum string, verified time.Time) Record {
	return Record{VerifiedAt: verified.UTC().Truncate(time.Second), SHA256: sum, Label: m.Label, CreatedBy: m.CreatedBy,
		Parent: m.Parent, Events: m.Events(), HeadsRoot: m.HeadsRoot}
}

// Verify verifies a bundle of the lock's agent and, if it is OK, records that.
// Tenant, Agent and, if it is nil, Parent of the options are the lock's.
func (l *Lock) Verify(ctx context.Context, id string, now time.Time, o bundle.VerifyOptions) (*bundle.Report, error) {
	info, err := l.s.Find(l.tenant, l.agent, id)
	if err != nil {
		return nil, err
	}
	o.Tenant, o.Agent = l.tenant, l.agent
	if o.Parent == nil {
		o.Parent = l.s.ParentOf(l.tenant, l.agent)
	}
	report, err := bundle.Verify(ctx, info.Path, o)
	if err != nil || !report.OK() {
		return report, err
	}
	record := recordOf(report.Manifest, report.SHA256, now)
	record.Pinned = info.Pinned
	return report, writeRecord(filepath.Dir(info.Path), id, record)
}

// Pin exempts a bundle from retention, or no longer.
func (l *Lock) Pin(id string, pinned bool) error {
	info, err := l.s.Find(l.tenant, l.agent, id)
	if err != nil {
		return err
	}
	info.Record.Pinned = pinned
	return writeRecord(filepath.Dir(info.Path), id, info.Record)
}

// Delete deletes a bundle, pinned or not. The error is ErrLastVerified for the
// last verified one, ErrParent for one that others rest on.
func (l *Lock) Delete(id string) error {
	if _, err := l.s.Find(l.tenant, l.agent, id); err != nil {
		return err
	}
	list, err := l.s.List(l.tenant, l.agent)
	if err != nil {
		return err
	}
	if err := mayDelete(list, id); err != nil {
		return fmt.Errorf("delete snapshot %s: %w", id, err)
	}
	return remove(list, id)
}

// mayDelete says why a bundle has to stay.
func mayDelete(list []Info, id string) error {
	verified, isVerified := 0, false
	for _, info := range list {
		if info.Parent == id {
			return fmt.Errorf("%w: %s", ErrParent, info.ID)
		}
		if info.Verified() {
			verified++
			isVerified = isVerified || info.ID == id
		}
	}
	if isVerified && verified == 1 {
		return ErrLastVerified
	}
	return nil
}

// remove deletes the files of a bundle, the bundle itself first: what a crash
// leaves of the others is swept later and never taken for a bundle.
func remove(list []Info, id string) error {
	for _, info := range list {
		if info.ID != id {
			continue
		}
		dir := filepath.Dir(info.Path)
		var errs []error
		for _, path := range []string{info.Path, info.Path + bundle.SumExtension, filepath.Join(dir, id+recordExtension)} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("delete snapshot %s: %w", id, err)
		}
		return syncDir(dir)
	}
	return nil
}

// Export copies a bundle and its .sha256 file to a path that does not exist
// yet. The sibling names the new file.
func (s *Store) Export(tenant, agent, id, to string) error {
	info, err := s.Find(tenant, agent, id)
	if err != nil {
		return err
	}
	src, err := os.Open(info.Path)
	if err != nil {
		return fmt.Errorf("export snapshot: %w", err)
	}
	defer src.Close()
	sum, err := copyNew(to, src)
	if err != nil {
		return fmt.Errorf("export snapshot: %w", err)
	}
	if info.SHA256 != "" && sum != info.SHA256 {
		os.Remove(to)
		return fmt.Errorf("export snapshot: %s has SHA-256 %s: %w", info.Path, sum, bundle.ErrChanged)
	}
	if err := writeNew(to+bundle.SumExtension, sum+"  "+filepath.Base(to)+"\n"); err != nil {
		os.Remove(to)
		return fmt.Errorf("export snapshot: %w", err)
	}
	return syncDir(filepath.Dir(to))
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Sync(), f.Close())
}
