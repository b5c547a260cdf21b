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
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/daemon"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/recovery"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// recovering is one `engramd cluster recover` of a node that has halted.
type recovering struct {
	*clusterCommand
	id   membership.Identity // zero where it has left already
	halt *membership.Halt
	now  string // in names of files
	dir  string // takes what is found
	conn *jetstream.Conn
	in   *bufio.Reader

	own    looked
	others []looked
	files  []string // of events that were found
}

// looked is a database that is looked at.
type looked struct {
	name  string // for people
	file  string // of what is found, without its end
	store *sqlite.Store
	place cluster.Place
}

// heard is for how long the log is watched: nodes that work say twice meanwhile that
// they live.
const heard = 12 * time.Second

// begunOrJoined looks which of the two is to be done, and does it.
func (c *clusterCommand) begunOrJoined(ctx context.Context, halt *membership.Halt) (err error) {
	id, err := membership.Read(c.cfg.Data)
	if err != nil && (halt == nil || !errors.Is(err, membership.ErrNone)) {
		return err
	}
	if halt == nil {
		halt = &membership.Halt{Cluster: id.Cluster.String(), Why: "a recovery was begun", At: time.Now()}
	}
	now := time.Now().UTC().Format("20060102T150405.000Z")
	r := &recovering{clusterCommand: c, id: id, halt: halt, now: now, dir: filepath.Join(c.cfg.Data, "recover-"+now), in: bufio.NewReader(c.Stdin)}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if r.own, err = r.open(ctx, "this node", "own", wiring.Database(c.cfg.Data)); err != nil {
		return err
	}
	for n, folder := range c.folders {
		if err := r.folder(ctx, fmt.Sprintf("folder-%d", n+1), folder); err != nil {
			return err
		}
	}
	if r.conn, err = c.dial(ctx); err != nil {
		return err
	}
	defer r.conn.Close()
	running := filepath.Join(r.dir, "running.db")
	if err = copyTo(ctx, running, r.conn, r.conn.Begin); err == nil {
		return r.join(ctx, running)
	}
	if !errors.Is(err, jetstream.ErrNoPeer) {
		return err
	}
	if err := r.nobodyWorks(ctx); err != nil {
		return err
	}
	o := membership.LogOptions(c.cfg)
	o.Halted = id.Node.String()
	return r.begin(ctx, o)
}

// nobodyWorks refuses to begin again beside nodes that work, or in the place of another
// cluster's log.
func (r *recovering) nobodyWorks(ctx context.Context) error {
	last, err := r.ours(ctx)
	if err != nil || last == 0 {
		return err
	}
	fmt.Fprintf(r.Stdout, "no node gives a database; watching the log for %v, whether one works\n", heard)
	grows, err := r.conn.Grows(ctx, last, heard)
	if err == nil && grows {
		err = errors.New("nodes work, and none gives its database now: run this again in a moment, and this node joins them")
	}
	return err
}

// ours refuses another cluster's log, and returns where ours ends.
func (r *recovering) ours(ctx context.Context) (last uint64, err error) {
	whose, last, err := r.conn.Whose(ctx)
	if err == nil && whose != (cluster.ClusterID{}) && whose.String() != r.halt.Cluster && whose != r.id.Cluster {
		err = fmt.Errorf("the log %s is of cluster %s, and this node was of %s: if that one was begun again elsewhere, start its first node and run this again", r.cfg.Cluster.Stream, whose, r.halt.Cluster)
	}
	return last, err
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

// agreed asks, unless --yes answers.
func (r *recovering) agreed(question string) bool {
	if r.yes {
		return true
	}
	fmt.Fprintf(r.Stdout, "%s (yes or no) ", question)
	line, _ := r.in.ReadString('\n') // nobody answers: no
	return strings.TrimSpace(line) == "yes"
}

var errNotAgreed = errors.New("nothing was changed; what was found stays in the folder that is named above. --yes imports it and goes on")

// choose notes what is to be imported.
func (r *recovering) choose(question string) error {
	if len(r.files) > 0 && r.agreed("import what is in "+strings.Join(r.files, ", ")+"?") {
		r.halt.Import = append(r.halt.Import, r.files...)
	}
	if !r.agreed(question) {
		return errNotAgreed
	}
	return r.saved("noted")
}

// saved notes how far it is.
func (r *recovering) saved(step string) error {
	err := r.halt.Save(r.cfg.Data)
	daemon.Step(r.Env, step)
	return err
}

// begin begins the cluster again from this node.
func (r *recovering) begin(ctx context.Context, o jetstream.Options) error {
	if err := r.fetch(ctx, o); err != nil {
		return err
	}
	if len(r.others) > 0 {
		if err := r.report(ctx, r.own, r.others, stays); err != nil {
			return err
		}
	}
	for _, other := range r.others {
		if err := r.report(ctx, other, []looked{r.own}, "this node lacks"); err != nil {
			return err
		}
	}
	if err := r.choose("begin the cluster again from this node, with a new log?"); err != nil {
		return err
	}
	if _, err := r.ours(ctx); err != nil { // it may have been begun again elsewhere while this one asked
		return err
	}
	if err := errors.Join(r.own.store.Close(), r.conn.Remove(ctx)); err != nil {
		return err
	}
	r.own.store = nil
	daemon.Step(r.Env, "removed")
	if err := r.standAlone(ctx); err != nil && !errors.Is(err, membership.ErrNone) {
		return err
	}
	daemon.Step(r.Env, "left")
	for _, path := range r.halt.Import {
		if err := r.importBegun(ctx, path); err != nil {
			return err
		}
	}
	daemon.Step(r.Env, "imported")
	if err := r.init(ctx); err != nil {
		return err
	}
	daemon.Step(r.Env, "begun")
	fmt.Fprintln(r.Stdout, "the cluster has begun again here: run engramd cluster recover on the other machines, one after the other")
	return membership.Over(r.cfg.Data)
}

// join makes this one a node of the others, that work.
func (r *recovering) join(ctx context.Context, running string) error {
	others, err := r.open(ctx, "the nodes that work", "", engine.Options{Path: running})
	if err != nil {
		return err
	}
	defer func() {
		if others.store != nil {
			err = errors.Join(err, others.store.Close())
		}
	}()
	if err := r.sameRelay(ctx, others); err != nil {
		return err
	}
	for _, one := range append([]looked{r.own}, r.others...) {
		if err := r.report(ctx, one, []looked{others}, "the nodes that work lack"); err != nil {
			return err
		}
	}
	aside := filepath.Base(engine.File(r.cfg.Data)) + ".before-recover-" + r.now
	if err := r.choose("keep this database in " + aside + ", and join the nodes that work?"); err != nil {
		return err
	}
	if err := errors.Join(r.own.store.Close(), others.store.Close()); err != nil {
		return err
	}
	r.own.store, others.store = nil, nil
	if err := os.Rename(running, membership.JoiningFile(r.cfg.Data)); err != nil {
		return err
	}
	joining := membership.Joining{Dir: r.cfg.Data, Command: membership.Recovering, Aside: aside, Fetched: true}
	id, place, err := joining.Join(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Stdout, "cluster %s, node %s, up to message %d; the former database is kept in %s\n", id.Cluster, id.Node, place.At.Number, filepath.Join(r.cfg.Data, aside))
	daemon.Step(r.Env, "placed")
	r.halt.Joined = true
	if len(r.halt.Import) == 0 {
		return membership.Over(r.cfg.Data)
	}
	return r.saved("joined")
}

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
