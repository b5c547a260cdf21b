package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/daemon"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
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
