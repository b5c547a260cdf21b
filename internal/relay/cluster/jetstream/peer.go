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
	transferLimit = time.Hour        // for making a backup and handing it over
	idleLimit     = 30 * time.Second // for a receiver's next question; the backup is given up
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
// One receiver is served at a time. It has an hour, and half a minute for each
// next question.
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
	busy := s.now != nil
	s.mu.Unlock()
	if m.Header.Get(fromHeader) != s.c.id && !busy {
		_ = m.Respond([]byte(s.c.id))
	}
}

// begin begins a backup, and answers with its id, or with nothing if another one
// is under way.
func (s *serving) begin(m *nats.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil || s.ctx.Err() != nil {
		_ = m.Respond(nil)
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, transferLimit)
	b := &backup{id: nats.NewInbox()[len(nats.InboxPrefix):], cancel: cancel, made: make(chan struct{})}
	b.idle = time.AfterFunc(idleLimit, func() { s.drop(b.id) })
	context.AfterFunc(ctx, func() { s.drop(b.id) })
	s.now = b
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
	b.idle.Stop()
	b.cancel()
}

func (s *serving) done(m *nats.Msg) {
	if q, ok := asked(m); ok && q.ID != "" {
		s.drop(q.ID)
	}
}

func asked(m *nats.Msg) (q question, ok bool) {
	err := json.Unmarshal(m.Data, &q)
	return q, err == nil && q.Offset >= 0
}
