package agentstate

import (
	"context"
	"time"

	"engramd/internal/sealedfile"
)

// Folder is one that is known to be of a project: the agent wrote there, or a
// person said so.
type Folder struct {
	Path, Project string
	Since         time.Time
}

// Link notes that a folder is of a project.
func (s *State) Link(ctx context.Context, folder, project string) error {
	if err := fits(project); err != nil {
		return err
	}
	if folder == "" || len(folder) > maxPath {
		return ErrTooLarge
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error { return s.link(tx, folder, project) })
}

func (s *State) link(tx *sealedfile.Tx, folder, project string) error {
	if err := tx.Exec("INSERT INTO folders VALUES (?, ?, ?) ON CONFLICT DO NOTHING", folder, project, s.now().UnixMilli()); err != nil {
		return err
	}
	return tx.Exec("DELETE FROM folders WHERE (folder, project) IN (SELECT folder, project FROM folders ORDER BY since DESC, folder, project LIMIT -1 OFFSET ?)", MaxFolders)
}

// Unlink forgets that a folder is of any project, and reports whether it was.
func (s *State) Unlink(ctx context.Context, folder string) (was bool, err error) {
	err = s.write(ctx, func(tx *sealedfile.Tx) error {
		err := tx.Exec("DELETE FROM folders WHERE folder = ?", folder)
		was = tx.Changed() > 0
		return err
	})
	return was, err
}

// Linked reports whether a folder is known to be of a project.
func (s *State) Linked(ctx context.Context, folder, project string) (yes bool, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		yes, err = tx.One("SELECT 1 FROM folders WHERE folder = ? AND project = ?", func(sealedfile.Row) error { return nil }, folder, project)
		return err
	})
	return yes, err
}

// Folders returns all that are known, by path.
func (s *State) Folders(ctx context.Context) (all []Folder, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all = nil
		return tx.Each("SELECT folder, project, since FROM folders ORDER BY folder, project", func(r sealedfile.Row) error {
			all = append(all, Folder{r.Text(0), r.Text(1), time.UnixMilli(r.Int(2)).UTC()})
			return nil
		})
	})
	return all, err
}
