package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/daemon/recovery"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// looked is a database that is looked at.
type looked struct {
	name  string // for people
	file  string // of what is found, without its end
	store *sqlite.Store
	place cluster.Place
}

// open opens a database to be looked at.
func (r *recovering) open(ctx context.Context, name, file string, o engine.Options) (l looked, err error) {
	l = looked{name: name, file: file}
	cfg := *r.cfg
	l.store, err = openReading(ctx, &cfg, func(to *sqlite.Options) { to.Options = o; to.ReadOnly = true })
	if err != nil {
		return l, fmt.Errorf("%s: %w", name, err)
	}
	state, err := l.store.SequenceState(ctx)
	if err == nil && state != nil {
		l.place, err = cluster.Inspect(state)
	}
	if err != nil {
		return looked{}, errors.Join(fmt.Errorf("%s: %w", name, err), l.store.Close())
	}
	return l, nil
}

// folder opens a named data folder, of a node of the same cluster.
func (r *recovering) folder(ctx context.Context, file, path string) error {
	if sameFile(path, r.cfg.Data) {
		return fmt.Errorf("%s is the data folder of this node itself", path)
	}
	if _, err := os.Stat(engine.File(path)); err != nil {
		return fmt.Errorf("%s is no data folder with a database: %w", path, err)
	}
	return r.add(ctx, path, file, wiring.Database(path))
}

// add adds a database to those that are looked at.
func (r *recovering) add(ctx context.Context, name, file string, o engine.Options) error {
	l, err := r.open(ctx, name, file, o)
	if err != nil {
		return err
	}
	r.others = append(r.others, l)
	if of := l.place.Cluster.String(); of != r.halt.Cluster {
		return fmt.Errorf("%s is of cluster %s, and this node of %s", name, of, r.halt.Cluster)
	}
	return nil
}

// fetch adds the databases of the other halted nodes, and says which members are not
// seen.
func (r *recovering) fetch(ctx context.Context, o jetstream.Options) error {
	conn, err := jetstream.Open(ctx, o)
	if err != nil {
		return err
	}
	defer conn.Close()
	ids, err := conn.Halted(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		path := filepath.Join(r.dir, id+".db")
		err := copyTo(ctx, path, conn, func(ctx context.Context) (string, error) { return conn.BeginAt(ctx, id) })
		if err != nil {
			return fmt.Errorf("the database of node %s: %w; stop that node to go on without it", id, err)
		}
		if err := r.add(ctx, "node "+r.named(id), id, engine.Options{Path: path}); err != nil {
			return err
		}
	}
	for _, one := range r.own.place.Members {
		if id := one.String(); id != o.Halted && !slices.Contains(ids, id) {
			fmt.Fprintf(r.Stdout, "not seen: node %s. Name a copy of its data folder with --folder, or recover it later: what only it has is imported then\n", r.named(id))
		}
	}
	return nil
}

// copyTo fetches a database.
func copyTo(ctx context.Context, path string, conn *jetstream.Conn, begin func(context.Context) (string, error)) error {
	from, err := begin(ctx)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(conn.Fetch(ctx, from, f), f.Close())
}

// named is how people know a node.
func (r *recovering) named(id string) string {
	for i, one := range r.own.place.Members {
		if one.String() == id {
			return fmt.Sprintf("%q (%s)", r.own.place.Names[i], id)
		}
	}
	return id
}

// stays is said of what this node alone has, where the cluster begins again from it.
const stays = "no other one has; they stay"

// report writes down and tells what only one database has.
func (r *recovering) report(ctx context.Context, of looked, against []looked, what string) (err error) {
	path := filepath.Join(r.dir, of.file+".jsonl")
	events, err := create(path)
	if err != nil {
		return err
	}
	lines, err := create(filepath.Join(r.dir, of.file+".commands"))
	if err != nil {
		return errors.Join(err, events.close())
	}
	var stores []*sqlite.Store
	for _, one := range against {
		stores = append(stores, one.store)
	}
	found, err := recovery.Only(ctx, of.store, stores, events, lines)
	if err = errors.Join(err, events.close(), lines.close()); err != nil {
		return fmt.Errorf("%s: %w; engramd check says what to do", of.name, err)
	}
	fmt.Fprintf(r.Stdout, "%s, up to message %d: %d events that %s\n", of.name, of.place.At.Number, found.Events, what)
	if found.Events > 0 {
		fmt.Fprintf(r.Stdout, "  in %s\n", path)
		if what != stays {
			r.files = append(r.files, path)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(found.Unsigned)) {
		fmt.Fprintf(r.Stdout, "  and, which no event says: %s, %d\n", store.UnsignedKind(kind), found.Unsigned[kind])
	}
	if what == stays || len(found.Unsigned) == 0 {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.dir, of.file+".commands"))
	fmt.Fprintf(r.Stdout, "  to be done again, by who may:\n%s", text)
	return err
}

// created is a file that is written and made durable.
type created struct {
	*bufio.Writer
	f *os.File
}

func create(path string) (created, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	return created{bufio.NewWriter(f), f}, err
}

func (c created) close() error { return errors.Join(c.Flush(), c.f.Sync(), c.f.Close()) }

// sameRelay refuses the nodes of another relay, whose log has the name of ours.
func (r *recovering) sameRelay(ctx context.Context, others looked) error {
	own, err := r.own.store.RelayKeys(ctx)
	if err != nil {
		return err
	}
	theirs, err := others.store.RelayKeys(ctx)
	if err != nil {
		return err
	}
	if len(own) == 0 || len(theirs) == 0 || own[0].PubKey != theirs[0].PubKey {
		return fmt.Errorf("the nodes that work at the log %s have another relay key: they are another relay's", r.cfg.Cluster.Stream)
	}
	return nil
}

// close closes what is looked at, and leaves nothing in the folder but what was found.
func (r *recovering) close() (err error) {
	for _, l := range append(r.others, r.own) {
		if l.store != nil {
			err = errors.Join(err, l.store.Close())
		}
	}
	left, e := filepath.Glob(filepath.Join(r.dir, "*"))
	err = errors.Join(err, e)
	for _, path := range left {
		info, e := os.Stat(path)
		if e == nil && (info.Size() == 0 || strings.Contains(filepath.Base(path), ".db")) {
			e = os.Remove(path)
		}
		if !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	_ = os.Remove(r.dir) // if it is empty
	return err
}
