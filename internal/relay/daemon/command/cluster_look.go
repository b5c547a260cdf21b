package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/daemon/doctor"
	"engramd/internal/relay/daemon/membership"
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

// look opens a database to be looked at, until close.
func (r *recovering) look(ctx context.Context, name, file string, o engine.Options) (l looked, err error) {
	l = looked{name: name, file: file}
	cfg := *r.cfg
	if l.store, err = openReading(ctx, &cfg, func(to *sqlite.Options) { to.Options = o; to.ReadOnly = true }); err != nil {
		return l, fmt.Errorf("%s: %w", name, err)
	}
	r.ends = append(r.ends, l.store.Close)
	state, err := l.store.SequenceState(ctx)
	if err == nil && state != nil {
		l.place, err = cluster.Inspect(state)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return l, err
}

// close closes what is looked at, and removes what was fetched.
func (r *recovering) close() (err error) {
	for _, end := range r.ends {
		err = errors.Join(err, end())
	}
	r.ends = nil
	return err
}

// lookAt is look at a database of another node of the same cluster.
func (r *recovering) lookAt(ctx context.Context, name, file string, o engine.Options) (looked, error) {
	l, err := r.look(ctx, name, file, o)
	if of := l.place.Cluster.String(); err == nil && of != r.halt.Cluster {
		err = fmt.Errorf("%s is of cluster %s, and this node of %s", name, of, r.halt.Cluster)
	}
	return l, err
}

// named looks at the data folders that --folder names.
func (r *recovering) named(ctx context.Context) (all []looked, err error) {
	for n, path := range r.folders {
		if sameFile(path, r.cfg.Data) {
			return nil, fmt.Errorf("--folder %s is the data folder of this node itself", path)
		}
		if _, err := os.Stat(engine.File(path)); err != nil {
			return nil, fmt.Errorf("--folder %s is no data folder with a database: %w", path, err)
		}
		l, err := r.lookAt(ctx, path, fmt.Sprintf("folder-%d", n+1), wiring.Database(path))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// halted looks at the databases of the other halted nodes, and says which members are
// not seen.
func (r *recovering) halted(ctx context.Context, id membership.Identity, own looked) (all []looked, err error) {
	nodes, err := doctor.Ask(ctx, r.conn, doctor.Question{})
	if err != nil {
		return nil, err
	}
	seen := []string{id.Node.String()}
	for _, n := range nodes {
		if !n.Halted || slices.Contains(seen, n.ID) {
			continue
		}
		seen = append(seen, n.ID)
		name := fmt.Sprintf("node %q (%s)", n.Name, n.ID)
		path := filepath.Join(r.dir, fmt.Sprintf("node-%d.db", len(seen)))
		if err := r.fetch(ctx, n, path); err != nil {
			return nil, fmt.Errorf("fetch the database of %s: %w; stop that node to recover without it", name, err)
		}
		l, err := r.lookAt(ctx, name, fmt.Sprintf("node-%d", len(seen)), engine.Options{Path: path})
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	for i, one := range own.place.Members {
		if !slices.Contains(seen, one.String()) {
			fmt.Fprintf(r.Stdout, "no answer: node %q (%s); name a copy of its data folder with --folder, or recover that node later\n", own.place.Names[i], one)
		}
	}
	return all, nil
}

// fetch fetches the database of a halted node, until close.
func (r *recovering) fetch(ctx context.Context, n doctor.Node, path string) error {
	from, err := r.conn.BeginAt(ctx, n.Gives)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	r.ends = append(r.ends, func() error {
		left, err := filepath.Glob(path + "*")
		for _, file := range left {
			err = errors.Join(err, os.Remove(file))
		}
		return err
	})
	return errors.Join(r.conn.Fetch(ctx, from, f), f.Close())
}

// stays is said of what this node alone has, where the cluster begins again from it.
const stays = "no other node has; they stay"

// report writes down and tells what only one database has.
func (r *recovering) report(ctx context.Context, of looked, against []looked, what string) error {
	var stores []*sqlite.Store
	for _, one := range against {
		stores = append(stores, one.store)
	}
	path := filepath.Join(r.dir, of.file+".jsonl")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	events := bufio.NewWriter(f)
	found, err := recovery.Only(ctx, of.store, stores, events)
	err = errors.Join(err, events.Flush(), f.Sync(), f.Close())
	if found.Events == 0 {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w; run engramd check", of.name, err)
	}
	fmt.Fprintf(r.Stdout, "%s, up to message %d: %d events that %s\n", of.name, of.place.At.Number, found.Events, what)
	if found.Events > 0 {
		fmt.Fprintf(r.Stdout, "  in %s\n", path)
		if what != stays {
			r.files = append(r.files, path)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(found.Unsigned)) {
		fmt.Fprintf(r.Stdout, "  not events: %s, %d\n", store.UnsignedKind(kind), len(found.Unsigned[kind]))
		if what != stays {
			fmt.Fprintf(r.Stdout, "  to repeat:\n%s\n", strings.Join(found.Unsigned[kind], "\n"))
		}
	}
	return nil
}
