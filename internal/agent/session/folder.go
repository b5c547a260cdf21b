package session

import (
	"context"
	"crypto/hmac"

	"engramd/internal/memory/state"
)

// OwnsFolder reports whether a folder of texts is the agent's own, by the mark in it:
// this machine made the folder so (OwnFolder). Where no state is kept the mark alone
// says it. known reports whether a person was asked about it.
func (s *Session) OwnsFolder(ctx context.Context, folder, mark string) (own, known bool, err error) {
	if !pairOf(s.Memory.Memory).Marks(state.OfFolder, folder, mark) {
		mark = ""
	}
	if !s.Keeps() {
		return mark != "", false, nil
	}
	err = onState(ctx, s, func(now *state.State) error {
		var kept string
		kept, known, err = now.Folders.Owned(ctx, folder)
		own = mark != "" && hmac.Equal([]byte(kept), []byte(mark))
		return err
	})
	return own, known, err
}

// OwnFolder makes a folder of texts the agent's own, and returns the mark to keep in
// it.
func (s *Session) OwnFolder(ctx context.Context, folder string) (mark string, err error) {
	if mark, err = pairOf(s.Memory.Memory).Mark(state.OfFolder, folder); err != nil {
		return "", err
	}
	return mark, noteFolder(ctx, s, folder, mark)
}

// Exported reports whether this pair made an export in plain text, by the mark in it and
// a hash of the rest.
func Exported(s *Session, sum, mark string) bool {
	return pairOf(s.Memory.Memory).Marks(state.OfExport, sum, mark)
}

// DisownFolder notes that a folder is not the agent's own, a person says.
func (s *Session) DisownFolder(ctx context.Context, folder string) error {
	return noteFolder(ctx, s, folder, "")
}

func noteFolder(ctx context.Context, s *Session, folder, mark string) error {
	if !s.Keeps() {
		return nil
	}
	return onState(ctx, s, func(now *state.State) error { return now.Folders.Own(ctx, folder, mark) })
}

// onState opens the state for one use.
func onState(ctx context.Context, s *Session, do func(*state.State) error) error {
	now, err := s.OpenState(ctx, s.o.Note)
	if err != nil {
		return err
	}
	defer now.Close()
	return do(now)
}
