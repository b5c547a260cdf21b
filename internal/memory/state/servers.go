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
			tx.Exec("INSERT INTO servers VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET seen = excluded.seen", process, v.Folder, session, now.UnixMilli())
		}
		tx.Exec("DELETE FROM servers WHERE seen < ?", now.Add(-ServersLast).UnixMilli())
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
			if found, ok = sessionIn(tx, "id = coalesce((SELECT nullif(follower, '') FROM sessions WHERE id = ?1), ?1)", v.Session); !ok {
				found, ok = Session{ID: v.Session}, true
			}
			return nil
		}
		for _, process := range v.Ancestors {
			if open := openOf(tx, process, v.Folder); len(open) > 0 {
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
func openOf(tx *sealedfile.Tx, process, folder string) (open []Session) {
	if process == "" {
		return nil
	}
	for r := range tx.Rows("SELECT "+sessionColumns+" FROM sessions WHERE process = ? AND follower = '' AND ended = 0 ORDER BY seen DESC, id", process) {
		open = append(open, sessionOf(r))
	}
	if len(open) > 1 {
		open = slices.DeleteFunc(open, func(one Session) bool { return one.Folder != folder })
	}
	return open
}

// served reports whether a server is known that serves a session and no other.
func served(tx *sealedfile.Tx, one Session) bool {
	if tx.Has(`SELECT 1 FROM servers v WHERE v.session = ?1 OR v.session <> '' AND ?1 = (SELECT follower FROM sessions WHERE id = v.session)`, one.ID) {
		return true
	}
	open := openOf(tx, one.Process, one.Folder)
	return len(open) == 1 && open[0].ID == one.ID && tx.Has("SELECT 1 FROM servers WHERE process = ?", one.Process)
}
