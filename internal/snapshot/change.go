package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/platform/files"
	"engramd/internal/snapshot/bundle"
)

// Create writes a bundle of the lock's agent and records that it was verified
// when it was written. Tenant, Agent and Before of the options are the lock's.
// Errors are those of bundle.Write; they leave nothing behind.
func (l *Lock) Create(ctx context.Context, src bundle.Source, o bundle.Options) (Info, *bundle.Written, error) {
	dir, err := l.s.Dir(l.tenant, l.agent)
	if err != nil {
		return Info{}, nil, err
	}
	o.Tenant, o.Agent = l.tenant, l.agent
	recorded := ""
	// The record comes before the bundle has its name: a bundle without one would
	// count as never verified.
	o.Before = func(w *bundle.Written) error {
		recorded = w.ID
		return writeRecord(dir, w.ID, recordOf(w.Manifest, w.SHA256, o.CreatedAt))
	}
	w, err := bundle.Write(ctx, dir, src, o)
	if err != nil {
		if recorded != "" {
			os.Remove(filepath.Join(dir, recorded+recordExtension)) // else a sweep does it
		}
		return Info{}, nil, err
	}
	info, err := l.s.Find(l.tenant, l.agent, w.ID)
	return info, w, err
}

// CreateAt is Create now or, if the agent's newest bundle has this second or a
// later one, a second after that: ids are of whole seconds, and the last to be
// made must come last, for who takes the newest and for retention. One whose
// time is to come (ToCome) is passed over: a clock that was wrong once would
// date all that follow.
func (l *Lock) CreateAt(ctx context.Context, src bundle.Source, o bundle.Options, now time.Time) (Info, error) {
	list, err := l.s.List(l.tenant, l.agent)
	if err != nil {
		return Info{}, err
	}
	if o.AsOf.IsZero() {
		o.AsOf = now
	}
	o.CreatedAt = now
	if i := slices.IndexFunc(list, func(i Info) bool { return !i.ToCome(now) }); i >= 0 {
		if next := list[i].CreatedAt.Add(time.Second); next.After(now) {
			o.CreatedAt = next
		}
	}
	info, _, err := l.Create(ctx, src, o)
	return info, err
}

// Unchanged returns the newest bundle if it is a verified one of the whole
// memory, with these heads, and as it was when it was written.
func (l *Lock) Unchanged(root string, now time.Time) (Info, bool, error) {
	list, err := l.s.List(l.tenant, l.agent)
	if err != nil || len(list) == 0 {
		return Info{}, false, err
	}
	last := list[0]
	if last.Kind != bundle.KindWhole || !last.Verified() || last.HeadsRoot != root {
		return Info{}, false, nil
	}
	same, err := l.confirm(list, last.ID, now)
	return last, same, err
}

func recordOf(m *bundle.Manifest, sum string, verified time.Time) Record {
	return Record{VerifiedAt: verified.UTC().Truncate(time.Second), Kind: m.KindOf(m.Empty()), SHA256: sum, Label: m.Label, CreatedBy: m.CreatedBy,
		Parent: m.Parent, Events: m.Events(), HeadsRoot: m.HeadsRoot}
}

// Verify is Store.Verify of the lock's agent, and records what was found: a
// bundle that is OK was verified now; one whose file is another than was
// verified before was not.
func (l *Lock) Verify(ctx context.Context, id string, now time.Time, o bundle.VerifyOptions) (*bundle.Report, error) {
	info, report, err := l.s.verify(ctx, l.tenant, l.agent, id, o)
	switch {
	case err != nil:
		return report, err
	case report.OK():
		record := recordOf(report.Manifest, report.SHA256, now)
		record.Pinned, record.Managed = info.Pinned, info.Managed
		return report, writeRecord(filepath.Dir(info.Path), id, record)
	case info.Verified() && report.SHA256 != info.SHA256:
		return report, l.damaged(info, now)
	}
	return report, nil
}

// damaged takes back that a bundle was verified.
func (l *Lock) damaged(info Info, now time.Time) error {
	info.Record.VerifiedAt, info.Record.DamagedAt = time.Time{}, now.UTC().Truncate(time.Second)
	return writeRecord(filepath.Dir(info.Path), info.ID, info.Record)
}

// Verify verifies a bundle and records nothing. Tenant, Agent and, if it is
// nil, Parent of the options are what is named here.
func (s *Store) Verify(ctx context.Context, tenant, agent, id string, o bundle.VerifyOptions) (*bundle.Report, error) {
	_, report, err := s.verify(ctx, tenant, agent, id, o)
	return report, err
}

func (s *Store) verify(ctx context.Context, tenant, agent, id string, o bundle.VerifyOptions) (Info, *bundle.Report, error) {
	info, err := s.Find(tenant, agent, id)
	if err != nil {
		return info, nil, err
	}
	o.Tenant, o.Agent = tenant, agent
	if o.Parent == nil {
		o.Parent = s.ParentOf(tenant, agent)
	}
	report, err := bundle.Verify(ctx, info.Path, o)
	return info, report, err
}

// Pin exempts a bundle from retention, or no longer.
func (l *Lock) Pin(id string, pinned bool) error {
	return l.record(id, func(r *Record) { r.Pinned = pinned })
}

// Manage records the name of a bundle for who manages the relay over the
// network.
func (l *Lock) Manage(id, name string) error {
	return l.record(id, func(r *Record) { r.Managed = name })
}

func (l *Lock) record(id string, change func(*Record)) error {
	info, err := l.s.Find(l.tenant, l.agent, id)
	if err != nil {
		return err
	}
	change(&info.Record)
	return writeRecord(filepath.Dir(info.Path), id, info.Record)
}

// Deletion says what Delete passes over.
type Deletion struct {
	// Force deletes a pinned one.
	Force bool
	// AnyKind lets any other verified bundle do in place of one of the same
	// kind: who manages the relay over the network must not learn the kinds.
	AnyKind bool
	// Now is when a bundle that is found damaged was found so.
	Now time.Time
}

// Delete deletes a bundle. The error is ErrPinned; ErrLastVerified unless there
// is another verified one that is worth as much, or it is empty; ErrParent for
// one that others rest on.
func (l *Lock) Delete(id string, how Deletion) error {
	info, err := l.s.Find(l.tenant, l.agent, id)
	if err != nil {
		return err
	}
	list, err := l.s.List(l.tenant, l.agent)
	if err != nil {
		return err
	}
	if info.Pinned && !how.Force {
		return fmt.Errorf("delete snapshot %s: %w", id, ErrPinned)
	}
	if i := slices.IndexFunc(list, func(i Info) bool { return i.Parent == id }); i >= 0 {
		return fmt.Errorf("delete snapshot %s: %w: %s", id, ErrParent, list[i].ID)
	}
	if info.Verified() && (how.AnyKind || worth(info.Kind) > 0) {
		if err := l.another(list, info, how); err != nil {
			return fmt.Errorf("delete snapshot %s: %w", id, err)
		}
	}
	return remove(list, id)
}

// another is ErrLastVerified unless there is another verified bundle that is
// worth as much, and is as it was when it was written.
func (l *Lock) another(list []Info, of Info, how Deletion) error {
	for _, info := range list {
		if info.ID == of.ID || !info.Verified() || !how.AnyKind && worth(info.Kind) < worth(of.Kind) {
			continue
		}
		if whole, err := l.confirm(list, info.ID, how.Now); whole || err != nil {
			return err
		}
	}
	return ErrLastVerified
}

// remove deletes the files of a bundle, the bundle itself first: what a crash
// leaves of the others is swept later and never taken for a bundle.
func remove(list []Info, id string) error {
	for _, info := range list {
		if info.ID != id {
			continue
		}
		dir := filepath.Dir(info.Path)
		for _, path := range []string{info.Path, info.Path + bundle.SumExtension, filepath.Join(dir, id+recordExtension)} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("delete snapshot %s: %w", id, err) // a bundle that stays keeps the rest
			}
		}
		return files.SyncDir(dir)
	}
	return nil
}

// Export copies a bundle and its .sha256 file to a path that does not exist
// yet. The sibling names the new file. The error is bundle.ErrChanged if the
// bundle is not what its own sibling, or its record, says: a damaged one must
// not get a hash that fits it.
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
	if sum != info.sum() || info.SHA256 != "" && sum != info.SHA256 {
		os.Remove(to)
		return fmt.Errorf("export snapshot: %s has SHA-256 %s, and not that of its %s file: %w", info.Path, sum, bundle.SumExtension, bundle.ErrChanged)
	}
	if err := writeNew(to+bundle.SumExtension, sum+"  "+filepath.Base(to)+"\n"); err != nil {
		os.Remove(to)
		return fmt.Errorf("export snapshot: %w", err)
	}
	return files.SyncDir(filepath.Dir(to))
}

// sum returns the hash that the .sha256 file of a bundle says; "" if it says
// none.
func (i Info) sum() string {
	f, err := os.Open(i.Path + bundle.SumExtension)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	sum, name, ok := strings.Cut(strings.TrimSuffix(string(b), "\n"), "  ")
	if err != nil || !ok || name != filepath.Base(i.Path) {
		return ""
	}
	return sum
}

func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Sync(), f.Close())
}
