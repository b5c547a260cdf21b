package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
)

// backup is one on its way to one receiver.
type backup struct {
	id     string
	cancel context.CancelFunc
	idle   *time.Timer
	asked  time.Time // by the receiver, the last time
	// arrived says that the receiver has it all.
	arrived bool
	made    chan struct{} // closed when what is below is there
	file    *os.File      // without a name already
	end     ending
	err     error
}

// giveUp ends it.
func (b *backup) giveUp() {
	b.idle.Stop()
	b.cancel()
}

// make makes the file, and takes its name away: it is gone when it is closed.
func (s *serving) make(ctx context.Context, b *backup) error {
	folder, err := os.MkdirTemp(s.Temp, backupFolders)
	if err != nil {
		return fmt.Errorf("folder for a backup: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the next Serve removes what is left
	path := filepath.Join(folder, "backup")
	if err := s.Backup(ctx, path); err != nil {
		return fmt.Errorf("make a backup: %w", err)
	}
	if b.file, err = os.Open(path); err != nil {
		return fmt.Errorf("make a backup: %w", err)
	}
	sum := sha256.New()
	if b.end.Size, err = io.Copy(sum, b.file); err != nil {
		return fmt.Errorf("read a backup: %w", err)
	}
	b.end.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// chunk answers with what is at the offset.
func (s *serving) chunk(m *nats.Msg) {
	q, ok := asked(m)
	s.mu.Lock()
	b := s.now
	if ok = ok && b != nil && b.id == q.ID; ok {
		b.idle.Reset(idleLimit)
		b.asked = time.Now()
	}
	s.mu.Unlock()
	if !ok {
		answerTo(m, stateError, []byte("this backup is not there any more"))
		return
	}
	select {
	case <-b.made:
	case <-time.After(makingWait):
		answerTo(m, stateMaking, nil)
		return
	}
	if b.err != nil {
		s.c.log.Warn("no backup for a node that joins", "err", b.err)
		answerTo(m, stateError, []byte("the backup could not be made"))
		s.drop(b.id)
		return
	}
	data := make([]byte, chunkSize)
	n, err := b.file.ReadAt(data, q.Offset)
	switch {
	case n > 0:
		answerTo(m, stateData, data[:n])
	case errors.Is(err, io.EOF):
		text, _ := json.Marshal(b.end) // it holds a number and a string
		answerTo(m, stateEnd, text)
	default:
		answerTo(m, stateError, []byte("the backup could not be read"))
	}
}

func answerTo(m *nats.Msg, state string, data []byte) {
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set(stateHeader, state)
	answer.Data = data
	_ = m.RespondMsg(answer) // the receiver asks again
}
