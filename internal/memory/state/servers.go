package state

import (
	"context"
	"slices"

	"engramd/internal/memory/state/sealedfile"
)

// Server is a program that serves the memory to a session of a harness, as it
// knows itself.
type Server struct {
	// Session is what the harness called the session when it started the server; ""
	// if it does not say.
	Session string
	// Ancestors are the processes above the server, the nearest first, by names as
	// those of Session.Process.
	Ancestors []string
	Folder    string
}

// maxAncestors bounds Server.Ancestors.
const maxAncestors = 8

func (v Server) fits() error {
	if len(v.Ancestors) > maxAncestors {
		return ErrTooLarge
	}
	if v.Session != "" {
		if err := fits(v.Session); err != nil {
			return err
		}
	}
	return fitting(v.Folder, v.Ancestors...)
}

// fitting refuses a folder or processes beyond the bounds.
func fitting(folder string, processes ...string) error {
	tooLong := slices.ContainsFunc(processes, func(p string) bool { return len(p) > maxName })
	if tooLong || len(folder) > maxPath {
		return ErrTooLarge
	}
	return nil
}

// Serve notes that a server has begun: what is written in a session that it
// serves is known to be written there.
func (s Sessions) Serve(ctx context.Context, v Server) error {
	if err := v.fits(); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		now := s.now()
		for _, process := range append([]string{""}, v.Ancestors...) {
			session := ""
			if process == "" {
				if session = v.Session; session == "" {
					continue
				}
			}
			if err := tx.Exec("INSERT INTO servers VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen", process, v.Folder, session, now.UnixMilli()); err != nil {
				return err
			}
		}
		if err := tx.Exec("DELETE FROM servers WHERE seen < ?", now.Add(-ServersLast).UnixMilli()); err != nil {
			return err
		}
		return tx.Exec("DELETE FROM servers WHERE (process, folder, session) IN (SELECT process, folder, session FROM servers ORDER BY seen DESC, process, folder, session LIMIT -1 OFFSET ?)", MaxServers)
	})
}

// Serves returns the session that a server serves now: the one that its harness
// named, or what followed it in the same program, or the one of the nearest
// process above it. It is false where no session is known, or several are.
func (s Sessions) Serves(ctx context.Context, v Server) (found Session, ok bool, err error) {
	if err := v.fits(); err != nil {
		return Session{}, false, err
	}
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		found, ok = Session{}, false
		if v.Session != "" {
			found, ok = Session{ID: v.Session}, true
			_, err := tx.One(`SELECT `+sessionColumns+` FROM sessions WHERE id = coalesce((SELECT nullif(follower, '') FROM sessions WHERE id = ?1), ?1)`,
				func(r sealedfile.Row) error { found = sessionOf(r); return nil }, v.Session)
			return err
		}
		for _, process := range v.Ancestors {
			open, err := openOf(tx, process, v.Folder)
			if err != nil {
				return err
			}
			if len(open) > 0 {
				if ok = len(open) == 1; ok {
					found = open[0]
				}
				return nil
			}
		}
		return nil
	})
	return found, ok, err
}

// openOf returns the open sessions of a process: those of a folder, where there
// are several.
func openOf(tx *sealedfile.Tx, process, folder string) (open []Session, err error) {
	if process == "" {
		return nil, nil
	}
	err = tx.Each("SELECT "+sessionColumns+" FROM sessions WHERE process = ? AND follower = '' AND ended = 0 ORDER BY seen DESC, id", func(r sealedfile.Row) error {
		open = append(open, sessionOf(r))
		return nil
	}, process)
	if len(open) > 1 {
		open = slices.DeleteFunc(open, func(one Session) bool { return one.Folder != folder })
	}
	return open, err
}

// served reports whether a server is known that serves a session and no other.
func served(tx *sealedfile.Tx, one Session) (bool, error) {
	named, err := tx.One(`SELECT 1 FROM servers v WHERE v.session = ?1 OR v.session <> '' AND ?1 = (SELECT follower FROM sessions WHERE id = v.session)`,
		func(sealedfile.Row) error { return nil }, one.ID)
	if named || err != nil || one.Process == "" {
		return named, err
	}
	open, err := openOf(tx, one.Process, one.Folder)
	if err != nil || len(open) != 1 || open[0].ID != one.ID {
		return false, err
	}
	return tx.One("SELECT 1 FROM servers WHERE process = ?", func(sealedfile.Row) error { return nil }, one.Process)
}
