package membership

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// Joining is a data folder that gets the database of a node that runs, and becomes
// another node with it. The caller holds the lock of the folder.
type Joining struct {
	Conn    *jetstream.Conn
	Dir     string
	Command string // that a person runs again if it was interrupted
	Again   int64  // the node that was here joins again by itself now, in Unix seconds; 0 if a person does it
	Aside   string // the folder in Dir for what is there, but for keys and snapshots
}

// Commands that join: of a node that has halted, and joins those that work, and of one
// that joins again by itself.
const (
	Recovering = "engramd cluster recover"
	Serving    = "engramd serve"
)

// JoiningFile is where a database is that was fetched.
func JoiningFile(dir string) string { return engine.File(dir) + ".joining" }

// Aside names the folder for what a node had before it joined again.
func Aside() string { return ".struck-" + time.Now().UTC().Format("20060102T150405.000Z") }

// mostCopies is how often a copy is begun at a time.
const mostCopies = 4

// Fetch fetches a copy of which the log goes on into JoiningFile, and goes on with one
// that was begun. A journal says so: interrupted, it is called again.
func (j Joining) Fetch(ctx context.Context) (place cluster.Place, err error) {
	work, err := journal.Read(j.Dir)
	if err != nil {
		return place, err
	}
	if work == nil || work.Command != j.Command {
		work = &journal.Journal{Command: j.Command}
	}
	for range mostCopies {
		if work.Copy == "" {
			if work.Copy, err = j.Conn.Begin(ctx); err == nil {
				err = errors.Join(j.Drop(), work.Write(j.Dir))
			}
			if err != nil {
				return place, err
			}
		}
		if err = j.copy(ctx, work.Copy); err == nil {
			if place, err = PlaceOf(ctx, engine.Options{Path: JoiningFile(j.Dir)}); err != nil {
				return place, errors.Join(err, j.Drop())
			}
			first, _, e := j.Conn.Bounds(ctx)
			if e != nil || place.At.Number+1 >= first {
				return place, e
			}
			err = cluster.ErrTrimmed
		} else if !errors.Is(err, jetstream.ErrTransfer) {
			return place, err
		}
		work.Copy = ""
	}
	return place, err
}

// Place has what was fetched, which stands at a place, take the place of what is there.
// Interrupted, it is finished by journal.Finish.
func (j Joining) Place(place cluster.Place) (id Identity, err error) {
	id = Identity{Cluster: place.Cluster, Again: j.Again}
	_, _ = rand.Read(id.Node[:]) // which never fails
	work := &journal.Journal{Command: j.Command}
	if work.Moves, err = j.moves(id, filepath.Base(JoiningFile(j.Dir))); err == nil {
		err = work.Write(j.Dir)
	}
	if err == nil {
		_, err = journal.Finish(j.Dir)
	}
	return id, err
}

// Drop forgets what was fetched.
func (j Joining) Drop() error {
	err := os.Remove(JoiningFile(j.Dir))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, journal.Drop(j.Dir))
}

// Here is how much of a database is here already.
func (j Joining) Here() int64 {
	info, err := os.Stat(JoiningFile(j.Dir))
	if err != nil {
		return 0
	}
	return info.Size()
}

// copy goes on with a copy.
func (j Joining) copy(ctx context.Context, from string) (err error) {
	f, err := os.OpenFile(JoiningFile(j.Dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err = j.Conn.Fetch(ctx, from, f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// moves makes what is moved beside the database, and says what moves.
func (j Joining) moves(id Identity, database string) (moves []journal.Move, err error) {
	text, err := id.text()
	if err == nil {
		err = keyfile.Stage(filepath.Join(j.Dir, File), text)
	}
	if err == nil && j.Aside != "" {
		names := append(engine.Files(engine.File(j.Dir)), filepath.Base(engine.MarkFile(j.Dir)), File)
		if j.Again == 0 { // what was read may be of another log
			names = append(names, PastFile)
		}
		if j.Command != Recovering { // which has more to do
			names = append(names, HaltFile)
		}
		moves, err = journal.Aside(j.Dir, j.Aside, names...)
	}
	return append(moves, journal.Move{From: database, To: filepath.Base(engine.File(j.Dir))}, journal.Move{From: keyfile.Next(File), To: File}), err
}

// PlaceOf reads where a database stands.
func PlaceOf(ctx context.Context, o engine.Options) (cluster.Place, error) {
	table, err := wiring.Table(config.Default())
	if err != nil {
		return cluster.Place{}, err
	}
	o.ReadOnly = true
	s, err := sqlite.Open(ctx, sqlite.Options{Options: o, Table: table})
	if err != nil {
		return cluster.Place{}, err
	}
	state, err := s.SequenceState(ctx)
	if err = errors.Join(err, s.Close()); err != nil {
		return cluster.Place{}, err
	}
	if state == nil {
		return cluster.Place{}, errors.New("the database is no node's of a cluster, or has executed nothing yet")
	}
	return cluster.Inspect(state)
}
