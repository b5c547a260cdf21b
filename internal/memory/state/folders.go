package state

import (
	"cmp"
	"context"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Folder is one that is known to be of a project: the agent wrote there, or a
// person said so.
type Folder struct {
	Path, Project string
	Since         time.Time
}

// Link notes that a folder is of a project, which had another name before; "" for
// none.
func (s Folders) Link(ctx context.Context, folder, project, old string) error {
	if err := cmp.Or(fits(project), fitting(folder, old)); err != nil {
		return err
	}
	if folder == "" {
		return ErrTooLarge
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		place(tx, s.now(), Session{Clone: folder, Project: project, Old: old})
		tx.Exec("DELETE FROM folders WHERE folder = ? AND project = ?", folder, old)
		return link(tx, s.now(), folder, project)
	})
}

func link(tx *sealedfile.Tx, now time.Time, folder, project string) error {
	tx.Exec("INSERT INTO folders VALUES (?, ?, ?) ON CONFLICT DO NOTHING", folder, project, now.UnixMilli())
	return tx.Exec("DELETE FROM folders WHERE (folder, project) IN (SELECT folder, project FROM folders ORDER BY since DESC, folder, project LIMIT -1 OFFSET ?)", MaxFolders)
}

// Unlink forgets that a folder or the clone that it belongs to is of any project, and
// reports whether one was.
func (s Folders) Unlink(ctx context.Context, folder, clone string) (was bool, err error) {
	err = s.write(ctx, func(tx *sealedfile.Tx) error {
		err := tx.Exec("DELETE FROM folders WHERE folder IN (?, ?)", folder, clone)
		was = tx.Changed() > 0
		return err
	})
	return was, err
}

// place notes what a clone is of, whether it is linked or not.
func place(tx *sealedfile.Tx, now time.Time, one Session) {
	if one.Clone == "" || len(one.Clone) > maxPath {
		return
	}
	tx.Exec(`INSERT INTO places VALUES (?1, ?2, ?3, ?4) ON CONFLICT (folder) DO UPDATE SET project = ?2, old = ?3 WHERE project <> ?2 OR old <> ?3`,
		one.Clone, one.Project, one.Old, now.UnixMilli())
	tx.Exec("DELETE FROM places WHERE folder IN (SELECT folder FROM places ORDER BY since DESC, folder LIMIT -1 OFFSET ?)", MaxFolders)
}

// Standing is what is known of a folder and the names of its project.
type Standing struct {
	Linked bool // by its name
	Before bool // by its old name
	// Others are further folders that are, or were, of one of both names: at most
	// maxOthers, by path.
	Others []string
}

// Standing returns what is known of a folder, and of the clone that it belongs to,
// by a project's name and its old one, "" for none.
func (s Folders) Standing(ctx context.Context, folder, clone, name, old string) (st Standing, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		st = Standing{}
		for r := range tx.Rows("SELECT project FROM folders WHERE folder IN (?1, ?2) AND project IN (?3, ?4)", folder, clone, name, old) {
			st.Linked, st.Before = st.Linked || r.Text(0) == name, st.Before || r.Text(0) == old
		}
		for r := range tx.Rows(`SELECT DISTINCT folder FROM (SELECT folder, project FROM folders UNION SELECT folder, project FROM places UNION SELECT folder, old FROM places
			UNION SELECT folder, project FROM sessions)
			WHERE folder NOT IN (?1, ?2, '') AND project <> '' AND project IN (?3, ?4) ORDER BY folder LIMIT ?5`, folder, clone, name, old, maxOthers) {
			st.Others = append(st.Others, r.Text(0))
		}
		return nil
	})
	return st, err
}

// All returns all that are known, by path.
func (s Folders) All(ctx context.Context) ([]Folder, error) {
	return list(ctx, s.db, func(r sealedfile.Row) Folder { return Folder{r.Text(0), r.Text(1), time.UnixMilli(r.Int(2)).UTC()} },
		"SELECT folder, project, since FROM folders ORDER BY folder, project")
}

// Migrate keeps what is needed to undo that a project's memory was renamed, at most
// MaxPlan bytes; nil drops it.
func (s Folders) Migrate(ctx context.Context, project string, data []byte) error {
	if err := fits(project); err != nil {
		return err
	}
	if len(data) > MaxPlan {
		return ErrTooLarge
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		if data == nil {
			return tx.Exec("DELETE FROM migrations WHERE project = ?", project)
		}
		return tx.Exec("INSERT INTO migrations VALUES (?1, ?2, ?3) ON CONFLICT (project) DO UPDATE SET data = ?2, at = ?3", project, data, s.now().UnixMilli())
	})
}

// Migrated returns what Migrate keeps of a project; nil for nothing.
func (s Folders) Migrated(ctx context.Context, project string) (data []byte, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		for r := range tx.Rows("SELECT data FROM migrations WHERE project = ?", project) {
			data = r.Blob(0)
		}
		return nil
	})
	return data, err
}
