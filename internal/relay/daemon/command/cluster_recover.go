package command

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/store/sqlite/engine"
)

// recover brings a halted node back. Where no node works, the cluster begins again from
// this one; where others work, this one joins them. What only some database has is
// written down first, and imported at the end. Until all is done the folder says that its
// node has halted: killed anywhere, this is run again.
func (c *clusterCommand) recover(ctx context.Context) error {
	halt, err := membership.ReadHalt(c.cfg.Data)
	if err != nil {
		return err
	}
	patience := soonTime
	if halt == nil || !halt.Joined {
		lent, err := c.borrow(ctx, func() error { return c.beginOrJoin(ctx, halt) })
		if err != nil {
			return err
		}
		if lent { // and starts
			patience = startTime
		}
	}
	return c.importFound(ctx, patience)
}

// borrow does work while nobody else has the data folder: a halted node lends it, and
// starts again at the end of it.
func (c *clusterCommand) borrow(ctx context.Context, work func() error) (lent bool, err error) {
	if err := engine.PrepareDir(c.cfg.Data); err != nil {
		return false, err
	}
	lock, err := engine.Lock(c.cfg.Data)
	if !errors.Is(err, engine.ErrLocked) {
		return false, under(c.cfg.Data, lock, err, work)
	}
	asking, hangUp := context.WithCancel(ctx)
	defer hangUp()
	_, failed := control.Ask(asking, c.cfg.Data, orders.Recover, nil, func(json.RawMessage) {
		lent = true
		lock, err = engine.Lock(c.cfg.Data)
		err = under(c.cfg.Data, lock, err, work)
		hangUp()
	})
	if !lent {
		err = failed
	}
	return lent, err
}

// under does work under the lock of a folder, if that was taken.
func under(dir string, lock *engine.DirLock, err error, work func() error) error {
	if err != nil {
		return err
	}
	if _, err = journal.Finish(dir, membership.Recovering); err == nil {
		err = work()
	}
	return errors.Join(err, lock.Unlock())
}

// How long a node may take until it imports: one that was halted, and one that may not
// run at all; and how often it is asked.
const (
	startTime  = 10 * time.Minute
	soonTime   = 30 * time.Second
	startEvery = 200 * time.Millisecond
)

// importFound imports what this node lacks through itself, now that it is a node again,
// so that all nodes and their clients see it.
func (c *clusterCommand) importFound(ctx context.Context, patience time.Duration) error {
	halt, err := membership.ReadHalt(c.cfg.Data)
	if err != nil || halt == nil || !halt.Joined {
		return err
	}
	for _, path := range halt.Import {
		t, err := c.importThrough(ctx, path, patience)
		if err != nil {
			return fmt.Errorf("import %s: %w; start engramd serve --cluster, and run engramd cluster recover again", path, err)
		}
		fmt.Fprintf(c.Stdout, "%s: %v\n", path, t)
	}
	return membership.Over(c.cfg.Data)
}

func (c *clusterCommand) importThrough(ctx context.Context, path string, patience time.Duration) (ingest.Tally, error) {
	for began := time.Now(); ; {
		f, err := os.Open(path)
		if err != nil {
			return ingest.Tally{}, err
		}
		t, err := control.Import(ctx, c.cfg.Data, false, f, &printer{out: c.Stderr, every: 2 * time.Second})
		_ = f.Close() // only read
		if err == nil || t.Lines > 0 || time.Since(began) > patience {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-time.After(startEvery):
		}
	}
}

// recovering is one recovery, until the node starts again.
type recovering struct {
	*clusterCommand
	halt  *membership.Halt
	now   string // in names of files
	dir   string // takes what is found
	conn  *jetstream.Conn
	in    *bufio.Reader
	ends  []func() error // of what is looked at
	files []string       // of events that the node lacks which goes on
}

// beginOrJoin looks which of the two is to be done, and does it.
func (c *clusterCommand) beginOrJoin(ctx context.Context, halt *membership.Halt) (err error) {
	id, err := membership.Read(c.cfg.Data)
	if err != nil && (halt == nil || !errors.Is(err, membership.ErrNone)) {
		return err
	}
	if halt == nil {
		halt = &membership.Halt{Cluster: id.Cluster.String(), Why: "a recovery was begun", At: time.Now()}
	}
	now := time.Now().UTC().Format("20060102T150405.000Z")
	r := &recovering{clusterCommand: c, halt: halt, now: now, dir: filepath.Join(c.cfg.Data, "recover-"+now), in: bufio.NewReader(c.Stdin)}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, r.close())
		_ = os.Remove(r.dir) // if it is empty
	}()
	own, err := r.look(ctx, "this node", "own", wiring.Database(c.cfg.Data))
	if err != nil {
		return err
	}
	others, err := r.named(ctx)
	if err != nil {
		return err
	}
	if r.conn, err = c.dial(ctx); err != nil {
		return err
	}
	defer r.conn.Close()
	join := membership.Joining{
		Conn: r.conn, Dir: c.cfg.Data, Command: membership.Recovering, Aside: filepath.Base(engine.File(c.cfg.Data)) + ".before-recover-" + now,
	}
	place, err := join.Fetch(ctx)
	switch {
	case err == nil:
		return r.join(ctx, join, place, own, append(others, own))
	case !errors.Is(err, jetstream.ErrNoPeer):
		return err
	}
	if err := join.Drop(); err != nil {
		return err
	}
	return r.begin(ctx, id, own, others)
}

// begin begins the cluster again from this node.
func (r *recovering) begin(ctx context.Context, id membership.Identity, own looked, others []looked) error {
	if err := r.idle(ctx, id); err != nil {
		return err
	}
	fetched, err := r.halted(ctx, id, own)
	if err != nil {
		return err
	}
	if others = append(others, fetched...); len(others) > 0 {
		if err := r.report(ctx, own, others, stays); err != nil {
			return err
		}
	}
	for _, other := range others {
		if err := r.report(ctx, other, []looked{own}, "this node lacks"); err != nil {
			return err
		}
	}
	if err := r.choose("begin the cluster again from this node, with a new log?"); err != nil {
		return err
	}
	if _, err := r.ours(ctx, id); err != nil { // it may have been begun again elsewhere while this one asked
		return err
	}
	if err := errors.Join(r.close(), r.conn.Remove(ctx)); err != nil {
		return err
	}
	daemon.Step(r.Env, "removed")
	if err := r.standAlone(ctx); err != nil && !errors.Is(err, membership.ErrNone) {
		return err
	}
	daemon.Step(r.Env, "left")
	if err := r.init(ctx); err != nil {
		return err
	}
	daemon.Step(r.Env, "begun")
	fmt.Fprintln(r.Stdout, "the cluster has begun again here; run engramd cluster recover on each other machine")
	return r.recovered()
}

// join makes this one a node of the others, that work.
func (r *recovering) join(ctx context.Context, join membership.Joining, place cluster.Place, own looked, all []looked) error {
	err := r.compare(ctx, own, all)
	if err == nil {
		err = r.choose("move this database to " + join.Aside + ", and join the running nodes?")
	}
	if err = errors.Join(err, r.close()); err != nil {
		return errors.Join(err, join.Drop())
	}
	id, err := join.Place(place)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Stdout, "cluster %s, node %s, up to message %d; the old database is in %s\n", id.Cluster, id.Node, place.At.Number, filepath.Join(r.cfg.Data, join.Aside))
	daemon.Step(r.Env, "placed")
	return r.recovered()
}

// compare tells what the nodes that work lack. Those of another relay are refused, whose
// log has the name of ours.
func (r *recovering) compare(ctx context.Context, own looked, all []looked) error {
	running, err := r.look(ctx, "the running nodes", "", engine.Options{Path: membership.JoiningFile(r.cfg.Data)})
	if err != nil {
		return err
	}
	ours, err := own.store.RelayKeys(ctx)
	theirs, failed := running.store.RelayKeys(ctx)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if len(ours) == 0 || len(theirs) == 0 || ours[0].PubKey != theirs[0].PubKey {
		return fmt.Errorf("the nodes at the log %s have another relay key: they are of another relay", r.cfg.Cluster.Stream)
	}
	for _, one := range all {
		if err := r.report(ctx, one, []looked{running}, "the running nodes lack"); err != nil {
			return err
		}
	}
	return nil
}

// recovered notes that the node may start, and what it imports then.
func (r *recovering) recovered() error {
	r.halt.Joined = true
	return r.saved("joined")
}

// heard is for how long the log is watched: nodes that work say twice meanwhile that
// they live.
const heard = 12 * time.Second

// idle refuses to begin again beside nodes that work, or in the place of another
// cluster's log.
func (r *recovering) idle(ctx context.Context, id membership.Identity) error {
	last, err := r.ours(ctx, id)
	if err != nil || last == 0 {
		return err
	}
	fmt.Fprintf(r.Stdout, "no node serves its database; watching the log for %v\n", heard)
	grows, err := r.conn.Grows(ctx, last, heard)
	if err == nil && grows {
		err = errors.New("other nodes run, and none serves its database now; run engramd cluster recover again in a moment")
	}
	return err
}

// ours refuses another cluster's log, and returns where ours ends.
func (r *recovering) ours(ctx context.Context, id membership.Identity) (last uint64, err error) {
	whose, last, err := r.conn.Whose(ctx)
	if err == nil && whose != (cluster.ClusterID{}) && whose.String() != r.halt.Cluster && whose != id.Cluster {
		err = fmt.Errorf("the log %s is of cluster %s, this node of %s; if the cluster has begun again elsewhere, start a node of it first", r.cfg.Cluster.Stream, whose, r.halt.Cluster)
	}
	return last, err
}

// agreed asks, unless --yes answers.
func (r *recovering) agreed(question string) bool {
	if r.yes {
		return true
	}
	fmt.Fprintf(r.Stdout, "%s (yes or no) ", question)
	line, _ := r.in.ReadString('\n') // at its end: no
	return strings.TrimSpace(line) == "yes"
}

var errNotAgreed = errors.New("nothing was changed; the exported events stay in the folder named above")

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
