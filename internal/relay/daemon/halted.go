package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"syscall"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/doctor"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// halting are the reasons for which a node halts: its log, or what it has executed, is
// not the others'. It may be the only one with some acknowledged writes, and which of
// several databases is to count is for a person to say.
var halting = []error{
	cluster.ErrWentBack, cluster.ErrOtherLog, cluster.ErrLogs, cluster.ErrDiffers, cluster.ErrDisagree, cluster.ErrForeign, cluster.ErrAhead,
	jetstream.ErrReplaced,
}

func halts(err error) bool {
	return slices.ContainsFunc(halting, func(one error) bool { return errors.Is(err, one) })
}

// halted is a node that stays up and serves nothing but its control socket, and its
// database to those that are recovered: it has no port, and the database is closed.
type halted struct {
	o    Options
	dir  string
	log  *slog.Logger
	why  error         // nil: it has not halted
	over chan struct{} // a recovery ended, whether it came to its end or not
	wake func(time.Duration) <-chan time.Time
	lock chan *engine.DirLock // holds that of the folder, and none while it is lent
}

// haltedBefore looks whether the node of a folder has halted, and was not recovered.
func haltedBefore(o Options) (*halted, error) {
	h := &halted{o: o, dir: o.Config.Data, over: make(chan struct{}, 1), wake: time.After, lock: make(chan *engine.DirLock, 1)}
	h.log = newLogger(o.Stderr, o.Config, new(slog.LevelVar))
	if !o.Config.Cluster.Enabled {
		return h, nil
	}
	halt, err := membership.ReadHalt(h.dir)
	switch {
	case err != nil:
		return nil, err
	case halt != nil && !halt.Joined:
		h.why = fmt.Errorf("since %s: %s", halt.At.UTC().Format(time.RFC3339), halt.Why)
	case halt != nil:
		h.log.Warn("what only this node had is still to be imported: engramd cluster recover", "files", halt.Import)
	}
	return h, nil
}

const (
	// lookAgain is when a node that found the log too short looks once more: its servers
	// may have come back with the rest.
	lookAgain = time.Minute
	// tryAgain is when it takes a folder again that is still used, and tries how often.
	tryAgain = 100 * time.Millisecond
	tries    = 100
)

// stay stays until a signal comes, or the node may be started again.
func (h *halted) stay(ctx context.Context) (again bool, err error) {
	wiring.Private()
	lock, err := takeFolder(h.dir)
	if err != nil {
		return false, err
	}
	h.lock <- lock
	defer func() {
		_, e := h.give()
		err = errors.Join(err, e)
	}()
	id, err := membership.Read(h.dir)
	short := errors.Is(h.why, cluster.ErrAhead)
	if halt, e := membership.ReadHalt(h.dir); e == nil && halt == nil && !short {
		if err == nil {
			err = (&membership.Halt{Cluster: id.Cluster.String(), Why: h.why.Error(), At: time.Now()}).Save(h.dir)
		}
		if err != nil { // it is found again at the next start
			h.log.Warn("it is not noted in the data folder that this node has halted", "err", err)
		}
	}
	h.log.Error("this node has halted: it serves nothing until engramd cluster recover is done (docs/cluster.md)", "err", h.why)
	ctl, err := control.Listen(ctx, control.Options{
		Dir: h.dir, Log: h.log, Orders: []control.Order{control.NewTellingOrder(orders.Recover, h.lend)},
		Refusal: fmt.Errorf("this node has halted: %w; engramd cluster recover says what to do (docs/cluster.md)", h.why),
	})
	if err != nil {
		return false, errors.Join(h.why, err)
	}
	defer ctl.Close()
	defer begin(ctx, func(ctx context.Context) { h.show(ctx, id) })()
	retry := make(<-chan time.Time)
	if short {
		retry = h.wake(lookAgain)
	}
	for {
		select {
		case sig := <-h.o.Signals:
			if sig != syscall.SIGHUP {
				return false, nil
			}
		case <-ctx.Done():
			return false, nil
		case <-h.over:
			return true, nil
		case <-retry:
			if given, err := h.give(); given || err != nil {
				return given, err
			}
		}
	}
}

// give gives the folder free, if it is not lent.
func (h *halted) give() (given bool, err error) {
	select {
	case lock := <-h.lock:
		return true, lock.Unlock()
	default:
		return false, nil
	}
}

// lend lets a recovery have the folder for as long as it listens. One that was killed
// lets go a moment later.
func (h *halted) lend(ctx context.Context, _ struct{}, tell func(any)) (any, error) {
	given, err := h.give()
	if err != nil || !given {
		return nil, cmp.Or(err, errors.New("another recovery of this node is under way"))
	}
	tell("free")
	<-ctx.Done()
	lock, err := engine.Lock(h.dir)
	for n := 0; n < tries && errors.Is(err, engine.ErrLocked); n++ {
		<-h.wake(tryAgain)
		lock, err = engine.Lock(h.dir)
	}
	if err == nil {
		h.lock <- lock
	}
	h.over <- struct{}{}
	return struct{}{}, err
}

// show says over the log's servers that this node has halted, and gives its database to
// recoveries on other machines.
func (h *halted) show(ctx context.Context, id membership.Identity) {
	o := membership.LogOptions(h.o.Config)
	o.Log = h.log
	v := h.vitals(ctx, id)
	for ctx.Err() == nil {
		conn, err := jetstream.Open(ctx, o)
		if err == nil {
			_, err = conn.Answer(doctor.Suffix, h.says(v, conn.ID()))
			if err == nil {
				err = conn.Serve(ctx, jetstream.Peer{Temp: h.dir, Backup: h.backup, Halted: true})
			}
			conn.Close()
		}
		if err != nil && ctx.Err() == nil {
			h.log.Warn("recoveries on other machines do not see this node's database", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-h.wake(showAgain):
		}
	}
}

// vitals is what this node says of itself, but for what changes: the members are those
// that its database names.
func (h *halted) vitals(ctx context.Context, id membership.Identity) doctor.Node {
	v := doctor.Node{ID: id.Node.String(), Name: membership.Name(h.o.Config), Program: h.o.Version, Halted: true, Trouble: h.why.Error()}
	if place, err := membership.PlaceOf(ctx, wiring.Database(h.dir)); err == nil {
		v.Applied = place.At.Number
		for i, member := range place.Members {
			v.Members = append(v.Members, doctor.Member{ID: member.String(), Name: place.Names[i]})
		}
	}
	return v
}

// says answers by one connection. The answers of an earlier one may still be under way.
func (h *halted) says(v doctor.Node, conn string) func([]byte) []byte {
	v.Gives = conn
	return func([]byte) []byte {
		now := v
		now.Clock, now.Free = time.Now(), freeBytes(h.dir)
		return now.Answer()
	}
}

// showAgain is when it is shown once more where that failed.
const showAgain = 10 * time.Second

func (h *halted) backup(ctx context.Context, path string) (err error) {
	table, err := wiring.Table(h.o.Config)
	if err != nil {
		return err
	}
	o := sqlite.Options{Options: wiring.Database(h.dir), Table: table}
	o.ReadOnly, o.AsIs = true, true
	s, err := sqlite.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return s.Backup(ctx, path)
}
