package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/platform/files"
	"engramd/internal/snapshot/bundle"
)

// Store is a folder of bundles:
//
//	<root>/tenants/<tenant>/snapshots/<agent>/<id>.tar.zst[.age]
//	<root>/tenants/<tenant>/snapshots/<agent>/<id>.tar.zst[.age].sha256
//	<root>/tenants/<tenant>/snapshots/<agent>/<id>.json  the Record
//
// Methods that change something need the agent's Lock; reading needs none.
type Store struct {
	root    string
	syncDir func(dir string) error // files.SyncDir
}

// New returns the store below root, which is made when something is written.
func New(root string) *Store { return &Store{root: root, syncDir: files.SyncDir} }

// Info is one bundle as the folder shows it.
type Info struct {
	ID        string    `json:"id"`
	Tenant    string    `json:"tenant"`
	Agent     string    `json:"agent"`
	Path      string    `json:"-"`
	Size      int64     `json:"size"`
	Encrypted bool      `json:"encrypted"`
	CreatedAt time.Time `json:"created_at"` // from the id
	// Record is what was written down when the bundle was made; its zero value
	// for a bundle that was brought here.
	Record
}

// Record is what the store knows of a bundle beside the file, so that listing
// and retention need not open it. It is no proof of anything.
type Record struct {
	// VerifiedAt is when the bundle was last verified, before its encryption if
	// it has one; zero if never.
	VerifiedAt time.Time `json:"verified_at,omitzero"`
	// DamagedAt is when the file was found to be another than was verified.
	DamagedAt time.Time `json:"damaged_at,omitzero"`
	// Kind is what the bundle is. Older records do not have it: see Store.List.
	Kind bundle.Kind `json:"kind,omitempty"`
	// SHA256 is that of the file which was verified.
	SHA256    string `json:"sha256,omitempty"`
	Label     string `json:"label,omitempty"`
	CreatedBy string `json:"created_by,omitempty"`
	Parent    string `json:"parent,omitempty"`
	Events    int64  `json:"events"`
	HeadsRoot string `json:"heads_root,omitempty"`
	Pinned    bool   `json:"pinned"`
	// Managed is the name by which who manages the relay over the network knows
	// the bundle: of the form of an id, and at random, because an id is made of
	// what the bundle holds. Empty for bundles that were not made there.
	Managed string `json:"managed,omitempty"`
}

// Verified reports whether the bundle was verified when it was written, or
// since.
func (r Record) Verified() bool { return !r.VerifiedAt.IsZero() }

// Automatic reports whether a program made the bundle by itself.
func (r Record) Automatic() bool { return bundle.Automatic(r.CreatedBy) }

// Marks returns what is to be known of a bundle at a glance: its kind, then
// "verified", "not verified" or "damaged".
func (i Info) Marks() []string {
	marks := []string{i.Kind.String(), "not verified"}
	switch {
	case i.Verified():
		marks[1] = "verified"
	case !i.DamagedAt.IsZero():
		marks[1] = "damaged"
	}
	for _, mark := range []struct {
		is   bool
		text string
	}{{i.Encrypted, "encrypted"}, {i.Pinned, "pinned"}, {i.Automatic(), "automatic"}, {i.Parent != "", "incremental"}} {
		if mark.is {
			marks = append(marks, mark.text)
		}
	}
	return marks
}

// Place is an agent of a tenant.
type Place struct{ Tenant, Agent string }

// Dir returns the folder of an agent's bundles. The error is bundle.ErrName.
func (s *Store) Dir(tenant, agent string) (string, error) {
	if err := errors.Join(bundle.CheckTenant(tenant), bundle.CheckAgent(agent)); err != nil {
		return "", err
	}
	return filepath.Join(s.root, "tenants", tenant, "snapshots", agent), nil
}

// makeDir makes the folder of an agent, for its owner only. A new folder's name
// is durable when the folder that it stands in is synced.
func (s *Store) makeDir(tenant, agent string) (string, error) {
	dir, err := s.Dir(tenant, agent)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.root, 0o700); err != nil {
		return "", fmt.Errorf("snapshots: %w", err)
	}
	for at := s.root; ; {
		rest := strings.TrimPrefix(dir[len(at):], string(filepath.Separator))
		if rest == "" {
			return dir, nil
		}
		name, _, _ := strings.Cut(rest, string(filepath.Separator))
		err := os.Mkdir(filepath.Join(at, name), 0o700)
		if err == nil {
			err = s.syncDir(at)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("snapshots: %w", err)
		}
		at = filepath.Join(at, name)
	}
}

// Places returns every agent that has a folder, by tenant and agent.
func (s *Store) Places() ([]Place, error) {
	tenants, err := names(filepath.Join(s.root, "tenants"))
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, tenant := range tenants {
		agents, err := names(filepath.Join(s.root, "tenants", tenant, "snapshots"))
		if err != nil {
			return nil, err
		}
		for _, agent := range agents {
			if _, err := s.Dir(tenant, agent); err == nil {
				places = append(places, Place{tenant, agent})
			}
		}
	}
	return places, nil
}

// names lists a folder in order; one that is missing is empty.
func names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("snapshots: %w", err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list, nil
}

// List returns the bundles of an agent, newest first; none if there is no
// folder. The kind of one whose record does not say it is found out as well as
// can be.
func (s *Store) List(tenant, agent string) ([]Info, error) {
	dir, err := s.Dir(tenant, agent)
	if err != nil {
		return nil, err
	}
	files, err := names(dir)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, name := range files {
		id, encrypted, ok := bundle.IDOf(name)
		if !ok {
			continue
		}
		path := filepath.Join(dir, name)
		stat, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("snapshots: %w", err)
		}
		if !stat.Mode().IsRegular() {
			continue
		}
		record, err := readRecord(dir, id)
		if err != nil {
			return nil, err
		}
		info := Info{ID: id, Tenant: tenant, Agent: agent, Path: path, Size: stat.Size(),
			Encrypted: encrypted, CreatedAt: bundle.TimeOf(id), Record: record}
		if info.Kind == bundle.KindUnknown {
			info.Kind = info.oldKind()
		}
		list = append(list, info)
	}
	SortInfos(list)
	return list, nil
}

// SortInfos puts the newest first.
func SortInfos(list []Info) {
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(b.ID, a.ID) })
}

// oldKind returns the kind of a bundle whose record does not say it: what its
// manifest says, if that can be read without a key, else what the record tells.
func (i Info) oldKind() bundle.Kind {
	switch {
	case i.HeadsRoot == bundle.EmptyRoot:
		return bundle.KindEmpty
	case i.CreatedBy == bundle.ByAdmin || i.CreatedBy == bundle.ByScheduled:
		return bundle.KindWhole // the daemon's own
	case i.Encrypted:
		return bundle.KindUnknown
	}
	m, err := bundle.ReadManifest(i.Path)
	if err != nil {
		return bundle.KindUnknown
	}
	return m.KindOf(m.Empty())
}

// Find returns the bundle with the id. The error is ErrNotFound if there is
// none, which says where there is one with this id if somebody else has it;
// bundle.ErrName for what cannot be an id: a path never is one.
func (s *Store) Find(tenant, agent, id string) (Info, error) {
	if err := bundle.CheckID(id); err != nil {
		return Info{}, err
	}
	list, err := s.List(tenant, agent)
	if err != nil {
		return Info{}, err
	}
	for _, info := range list {
		if info.ID == id {
			return info, nil
		}
	}
	err = fmt.Errorf("snapshot %s of agent %s, tenant %s: %w", id, agent, tenant, ErrNotFound)
	if at, found := s.elsewhere(id); found {
		err = fmt.Errorf("%w: it is of agent %s, tenant %s", err, at.Agent, at.Tenant)
	}
	return Info{}, err
}

// elsewhere finds whose a bundle is.
func (s *Store) elsewhere(id string) (Place, bool) {
	places, err := s.Places()
	if err != nil {
		return Place{}, false
	}
	for _, p := range places {
		dir, err := s.Dir(p.Tenant, p.Agent)
		if err != nil {
			continue
		}
		if _, there := bundle.In(dir, id); there {
			return p, true
		}
	}
	return Place{}, false
}

// ParentOf returns what bundle.VerifyOptions.Parent wants, for bundles that lie
// in this folder.
func (s *Store) ParentOf(tenant, agent string) func(id string) (string, error) {
	return func(id string) (string, error) {
		info, err := s.Find(tenant, agent, id)
		return info.Path, err
	}
}

// ParentBeside is ParentOf for a bundle at a path: its parents lie beside it,
// under the names that Write gave them, or else where or finds them (nil:
// nowhere).
func ParentBeside(path string, or func(id string) (string, error)) func(id string) (string, error) {
	return func(id string) (string, error) {
		if err := bundle.CheckID(id); err != nil {
			return "", err
		}
		for _, encrypted := range []bool{false, true} {
			beside := filepath.Join(filepath.Dir(path), bundle.FileName(id, encrypted))
			if stat, err := os.Stat(beside); err == nil && stat.Mode().IsRegular() {
				return beside, nil
			}
		}
		if or == nil {
			return "", fmt.Errorf("snapshot %s, in %s: %w", id, filepath.Dir(path), ErrNotFound)
		}
		return or(id)
	}
}
