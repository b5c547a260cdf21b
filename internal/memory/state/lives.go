package state

import (
	"cmp"
	"context"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Begin notes that a session starts, or goes on, in a process, folder and
// project. alone says that the process has one session at a time, so that this
// one takes the place of those that it had; otherwise it does so only if cleared
// says that it follows the last one of its folder.
func (s Sessions) Begin(ctx context.Context, one Session, alone, cleared bool) error {
	if err := cmp.Or(fits(one.ID, one.Harness), fitting(one.Folder, one.Process, one.Project, one.Old)); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		s.touch(tx, one.ID, one.Harness)
		tx.Exec("UPDATE sessions SET process = ?2, folder = ?3, project = ?4, follower = '', ended = 0 WHERE id = ?1", one.ID, one.Process, one.Folder, one.Project)
		place(tx, s.now(), one)
		if one.Process == "" || !alone && !cleared {
			return nil
		}
		before := "SELECT id FROM sessions WHERE process = ?2 AND id <> ?1"
		args := []any{one.ID, one.Process}
		if !alone {
			before += " AND folder = ?3 AND follower = '' ORDER BY seen DESC, id LIMIT 1"
			args = append(args, one.Folder)
		}
		// What led to one of those leads to this one, so that one step always does.
		return tx.Exec("UPDATE sessions SET follower = ?1 WHERE id <> ?1 AND (id IN ("+before+") OR follower IN ("+before+"))", args...)
	})
}

// Muted notes that a session began while no relay answered.
func (s Sessions) Muted(ctx context.Context, id string) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		return tx.Exec("UPDATE sessions SET mute = ? WHERE id = ?", s.now().UnixMilli(), id)
	})
}

// Heard reports of a session that began while no relay answered whether one did so later,
// at a time; until Turns.Prompt notes that the session was told.
func (s Sessions) Heard(ctx context.Context, id string, at time.Time) (yes bool, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		yes = tx.Has("SELECT 1 FROM sessions WHERE id = ? AND mute > 0 AND mute < ?", id, at.UnixMilli())
		return nil
	})
	return yes, err
}

// End notes that a session is over. What follows it in the same process still
// does.
func (s Sessions) End(ctx context.Context, id string) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error { return tx.Exec("UPDATE sessions SET ended = 1 WHERE id = ?", id) })
}

// Wrote counts a write of a session that is known. links returns the folder that is
// of the session's project from now on because of it, "" for none.
func (s Sessions) Wrote(ctx context.Context, id string, links func(project string) string) error {
	if err := fits(id); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		s.touch(tx, id, "mcp")
		tx.Exec("UPDATE sessions SET writes = writes + 1 WHERE id = ?", id)
		one, _ := sessionIn(tx, "id = ?", id)
		if one.Folder == "" || one.Project == "" {
			return nil
		}
		folder := links(one.Project)
		if folder == "" || len(folder) > maxPath {
			return nil
		}
		return link(tx, s.now(), folder, one.Project)
	})
}

// Ask reports whether a session is to be asked what it wants to remember: once,
// after that many prompts, if nothing was written in it and a server serves it,
// so that this is known. Of several processes that ask at once, one is told so.
func (s Sessions) Ask(ctx context.Context, id string, prompts int64) (yes bool, err error) {
	err = s.write(ctx, func(tx *sealedfile.Tx) error {
		one, found := sessionIn(tx, "id = ? AND asked = 0 AND writes = 0 AND ended = 0 AND prompts >= ?", id, prompts)
		if yes = found && served(tx, one); yes {
			tx.Exec("UPDATE sessions SET asked = 1 WHERE id = ?", id)
		}
		return nil
	})
	return yes && err == nil, err
}
