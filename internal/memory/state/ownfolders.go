package state

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"engramd/internal/memory/state/sealedfile"
)

// Marked is a sort of thing that a pair marks as its own: the label of the key for it.
type Marked string

// What is marked.
const (
	OfFolder Marked = "engramd/state/folder/v1" // a folder of texts, by its path
	OfExport Marked = "engramd/state/export/v1" // an export in plain text, by a hash of its bytes
)

// nonceBytes are of a mark before its HMAC.
const nonceBytes = 16

// Mark is what a thing holds that is the pair's own: a nonce, and an HMAC of it and of
// what the thing is known by that nobody else can make. In hex.
func (p Pair) Mark(of Marked, thing string) (string, error) {
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce)
	return p.mark(of, thing, nonce)
}

func (p Pair) mark(of Marked, thing string, nonce []byte) (string, error) {
	key, err := sealedfile.Key(p.Conversation, string(of))
	if err != nil {
		return "", err
	}
	sum := hmac.New(sha256.New, key[:])
	fmt.Fprintf(sum, "%s|%s|%x|%s", p.Agent, p.Owner, nonce, thing)
	return hex.EncodeToString(sum.Sum(nonce)), nil
}

// Marks reports whether a mark is the pair's, of that thing.
func (p Pair) Marks(of Marked, thing, mark string) bool {
	if len(mark) != 2*(nonceBytes+sha256.Size) {
		return false
	}
	nonce, err := hex.DecodeString(mark[:2*nonceBytes])
	if err != nil {
		return false
	}
	want, err := p.mark(of, thing, nonce)
	return err == nil && hmac.Equal([]byte(want), []byte(mark))
}

// Own notes that a folder of texts is the agent's own, by the mark in it; "" says that
// a person was asked, and said no.
func (s Folders) Own(ctx context.Context, folder, mark string) error {
	if folder == "" || len(folder) > maxPath {
		return fmt.Errorf("%w: a path of %d bytes", ErrTooLarge, len(folder))
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		tx.Exec("INSERT INTO own_folders VALUES (?1, ?2, ?3) ON CONFLICT (folder) DO UPDATE SET mark = ?2, at = ?3", folder, mark, s.now().UnixMilli())
		return tx.Exec("DELETE FROM own_folders WHERE folder IN (SELECT folder FROM own_folders ORDER BY at DESC, folder LIMIT -1 OFFSET ?)", MaxFolders)
	})
}

// Owned returns the mark of a folder, "" for one that is not the agent's own, and
// whether anything is known of it.
func (s Folders) Owned(ctx context.Context, folder string) (mark string, known bool, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		mark, known = "", false
		for r := range tx.Rows("SELECT mark FROM own_folders WHERE folder = ?", folder) {
			mark, known = r.Text(0), true
		}
		return nil
	})
	return mark, known, err
}
