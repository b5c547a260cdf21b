package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	chunkSize     = 512 << 10
	transferLimit = 24 * time.Hour   // for making a backup and handing it over
	idleLimit     = time.Hour        // for a receiver's next question; the backup is given up
	busyLimit     = 30 * time.Second // for the same, and another receiver may take the turn
	joinLimit     = time.Hour        // for who has a backup to become a member
	fullEvery     = time.Minute      // it is looked how full the log is
	makingWait    = 2 * time.Second  // until a receiver is told that the backup is still being made
	backupFolders = "engramd-backup-"

	stateHeader = "Engramd-State" // what an answer of a peer is
	stateMaking = "making"        // ask again
	stateData   = "data"          // bytes from the offset on
	stateEnd    = "end"           // an ending
	stateError  = "error"         // a text
)

// Peer is a node that gives others a backup of its database.
type Peer struct {
	// Temp is a folder for backups: there is one at most, and no file of it is
	// left when its receiver has it, has gone, or the node ends.
	Temp string
	// Backup makes a consistent backup, as a new file.
	Backup func(ctx context.Context, path string) error
	Halted bool // only who names this connection is given it (BeginAt)
	// Hold keeps the log from being trimmed beyond what the backup will have, until
	// release is called; nil for none. Full reports whether the log has no room for that.
	Hold func() (release func())
	Full func(context.Context) bool
}

// question is what a receiver asks for, and ending what it gets at the end.
type question struct {
	ID     string `json:"id"`
	Offset int64  `json:"offset"`
}

type ending struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// serving is a Serve: it owns the one backup that there may be.
type serving struct {
	Peer
	c   *side
	ctx context.Context

	mu   sync.Mutex
	now  *backup // nil without one
	open sync.WaitGroup
}

// Serve gives backups to nodes that join (Fetch) until ctx ends. The decision of
// the design names the control port for it; they go over the servers of the log
// instead, in the same account: a node that joins has to be let in there anyway,
// and needs no address of another node, nor a second port with a second secret.
//
// One receiver is served at a time. It has a day, and an hour for each next question:
// who was interrupted goes on where it was, unless another one came meanwhile.
func (c *side) Serve(ctx context.Context, p Peer) error {
	left, err := filepath.Glob(filepath.Join(p.Temp, backupFolders+"*"))
	for _, folder := range left { // of a node that was killed
		err = errors.Join(err, os.RemoveAll(folder))
	}
	if err != nil {
		return fmt.Errorf("folder for backups: %w", err)
	}
	s := &serving{Peer: p, c: c, ctx: ctx}
	defer s.open.Wait()
	defer s.drop("")
	own := c.peers() + "." + c.id
	for subject, handle := range map[string]nats.MsgHandler{
		c.peers() + ".find": s.found, own + ".begin": s.begin, own + ".chunk": s.chunk, own + ".done": s.done,
	} {
		sub, err := c.nc.Subscribe(subject, handle)
		if err != nil {
			return fmt.Errorf("serve backups: %w", err)
		}
		defer sub.Unsubscribe() //nolint:errcheck // it fails if the connection is closed
	}
	if err := c.arrived(); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (c *side) peers() string { return "engramd.peer." + c.stream }

// found answers whoever looks for peers, except this connection itself.
func (s *serving) found(m *nats.Msg) {
	s.mu.Lock()
	busy := s.busy()
	s.mu.Unlock()
	if m.Header.Get(fromHeader) != s.c.id && !busy && !s.Halted {
		_ = m.Respond([]byte(s.c.id))
	}
}

// busy reports whether a receiver is at it.
func (s *serving) busy() bool { return s.now != nil && time.Since(s.now.asked) < busyLimit }

// begin begins a backup, and answers with its id, or with nothing if another one
// is under way.
func (s *serving) begin(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy() || s.ctx.Err() != nil {
		_ = m.Respond(nil)
		return
	}
	if s.now != nil {
		s.now.giveUp()
	}
	ctx, cancel := context.WithTimeout(s.ctx, transferLimit)
	b := &backup{id: nats.NewInbox()[len(nats.InboxPrefix):], cancel: cancel, made: make(chan struct{}), asked: time.Now()}
	b.idle = time.AfterFunc(idleLimit, func() { s.drop(b.id) })
	context.AfterFunc(ctx, func() { s.drop(b.id) })
	s.now = b
	if s.Hold != nil {
		release := s.Hold() // before the backup is made
		s.open.Go(func() { s.hold(ctx, b, release) })
	}
	s.open.Go(func() {
		b.err = s.make(ctx, b)
		close(b.made)
		<-ctx.Done()
		if b.file != nil {
			_ = b.file.Close()
		}
	})
	s.c.log.Info("a node that joins is given a backup")
	_ = m.Respond([]byte(b.id))
}

// drop ends the backup with this id, "" for any.
func (s *serving) drop(id string) {
	s.mu.Lock()
	b := s.now
	if b == nil || id != "" && b.id != id {
		s.mu.Unlock()
		return
	}
	s.now = nil
	s.mu.Unlock()
	b.giveUp()
}

func (s *serving) done(m *nats.Msg) {
	q, ok := asked(m)
	if !ok || q.ID == "" {
		return
	}
	s.mu.Lock()
	if s.now != nil && s.now.id == q.ID {
		s.now.arrived = true
	}
	s.mu.Unlock()
	s.drop(q.ID)
}

// hold holds the trimming until the receiver had time to become a member, or the backup
// was given up, or the log is half full: then the receiver finds the log trimmed, and
// begins again with a newer backup.
func (s *serving) hold(ctx context.Context, b *backup, release func()) {
	defer release()
	tick := time.NewTicker(fullEvery)
	defer tick.Stop()
	given, joined := ctx.Done(), make(<-chan time.Time)
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-given:
			s.mu.Lock()
			arrived := b.arrived
			s.mu.Unlock()
			if !arrived {
				return
			}
			given, joined = nil, time.After(joinLimit)
		case <-joined:
			return
		case <-tick.C:
			if s.Full(s.ctx) {
				s.c.log.Warn("the log is half full, and is trimmed although a node joins")
				return
			}
		}
	}
}

func asked(m *nats.Msg) (q question, ok bool) {
	err := json.Unmarshal(m.Data, &q)
	return q, err == nil && q.Offset >= 0
}
