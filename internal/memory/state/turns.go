package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Why a turn was told nothing, or what else is noted of it.
const (
	Late   = "late"   // it was not answered in time
	Failed = "failed" // the memory could not be read
	Chores = "chores" // it was told what waits for somebody to think
)

const (
	turnsLast  = 30 * 24 * time.Hour
	maxTurns   = 20_000 // rows: turns and texts
	maxTexts   = 64     // of one turn
	maxReason  = 200    // bytes
	choresWait = 20 * time.Hour
)

// Turn is the start of a session, or a prompt of it, with what it was told unasked.
type Turn struct {
	Session
	Prompt int64 // counted from 1; 0 is a start
	Note   string
	Texts  []Told
	// Shown stands in the session's context from now on; Recalled are slugs that count as
	// recalled. Heard says that it was told that a relay answers (Sessions.Heard). Neither
	// is given back.
	Shown    []Shown
	Recalled []string
	Heard    bool
}

// Told is a text that a turn was told, or that was withheld from it.
type Told struct {
	Slug, Event string // Event is the version's id; "" where no relay has it
	Reason      string
	Withheld    bool
}

// Start notes what a session was told at its start.
func (s Turns) Start(ctx context.Context, t Turn) error {
	return s.add(ctx, t, func(tx *sealedfile.Tx) int64 {
		s.sessions().touch(tx, t.ID, t.Harness)
		return 0
	})
}

// Prompt counts a prompt of a session, which is seen by that, and notes what it was told.
// The session's folder and project are noted where no Begin has: it had no time, or the
// harness told nobody of the start.
func (s Turns) Prompt(ctx context.Context, t Turn) error {
	return s.add(ctx, t, func(tx *sealedfile.Tx) int64 {
		s.sessions().touch(tx, t.ID, t.Harness)
		tx.Exec("UPDATE sessions SET folder = ?2, project = ?3 WHERE id = ?1 AND folder = '' AND project = ''", t.ID, t.Folder, t.Project)
		place(tx, s.now(), t.Session)
		tx.Exec("UPDATE sessions SET prompts = prompts + 1, mute = CASE ?2 WHEN 1 THEN 0 ELSE mute END WHERE id = ?1", t.ID, t.Heard)
		return 1 + tx.Int("SELECT coalesce(max(prompt), 0) FROM turns WHERE session = ?", t.ID)
	})
}

func (s Turns) sessions() Sessions { return Sessions{s.db} }

func (s Turns) add(ctx context.Context, t Turn, begin func(tx *sealedfile.Tx) int64) error {
	if err := cmp.Or(fits(t.ID, t.Harness), fitting(t.Folder, t.Project, t.Old), few(t.Recalled), shownFits(t.Shown)); err != nil {
		return err
	}
	t.Texts = t.Texts[:min(len(t.Texts), maxTexts)]
	for _, text := range t.Texts {
		if len(text.Slug) == 0 || len(text.Slug)+len(text.Event) > maxName {
			return fmt.Errorf("%w: a slug of %d bytes", ErrTooLarge, len(text.Slug))
		}
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		prompt, now := begin(tx), s.now()
		var recalled []string // what the session was shown before does not count again
		for _, f := range show(tx, t.ID, t.Shown) {
			if slices.Contains(t.Recalled, f.Slug) {
				recalled = append(recalled, f.Slug)
			}
		}
		count(tx, now, Recalled, recalled)
		const add = "INSERT INTO turns (session, harness, prompt, at, slug, event, reason, withheld) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
		for _, text := range append([]Told{{Reason: t.Note}}, t.Texts...) {
			tx.Exec(add, t.ID, t.Harness, prompt, now.UnixMilli(), text.Slug, text.Event, text.Reason[:min(len(text.Reason), maxReason)], text.Withheld)
		}
		tx.Exec("DELETE FROM turns WHERE at < ?", now.Add(-turnsLast).UnixMilli())
		return tx.Exec("DELETE FROM turns WHERE n <= (SELECT max(n) FROM turns) - ?", maxTurns)
	})
}

// Of returns the turns of a session, in their order.
func (s Turns) Of(ctx context.Context, session string) (all []Turn, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all = nil
		for r := range tx.Rows("SELECT session, harness, prompt, at, slug, event, reason, withheld FROM turns WHERE session = ? ORDER BY n", session) {
			text := Told{Slug: r.Text(4), Event: r.Text(5), Reason: r.Text(6), Withheld: r.Int(7) != 0}
			switch {
			case text.Slug == "":
				all = append(all, Turn{Session: Session{ID: r.Text(0), Harness: r.Text(1), Seen: time.UnixMilli(r.Int(3)).UTC()}, Prompt: r.Int(2), Note: text.Reason})
			case len(all) > 0: // else its turn is too old
				last := &all[len(all)-1]
				last.Texts = append(last.Texts, text)
			}
		}
		return nil
	})
	return all, err
}

// Newest returns the sessions of which turns are known, the last seen first.
func (s Turns) Newest(ctx context.Context, most int) ([]string, error) {
	return list(ctx, s.db, func(r sealedfile.Row) string { return r.Text(0) }, "SELECT session FROM turns GROUP BY session ORDER BY max(n) DESC LIMIT ?", most)
}

// Chores reports whether it is time to tell a session what waits for somebody to think:
// none was told for most of a day.
func (s Turns) Chores(ctx context.Context) (due bool, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		now := s.now()
		due = !tx.Has("SELECT 1 FROM turns WHERE slug = '' AND prompt = 0 AND reason = ? AND at BETWEEN ? AND ?", Chores, now.Add(-choresWait).UnixMilli(), now.UnixMilli())
		return nil
	})
	return due, err
}
