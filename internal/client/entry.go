package client

import (
	"crypto/sha256"
	"encoding/hex"

	"engramd/nips/nipae"
)

// Entry is one version of one record, decrypted.
type Entry struct {
	Slug      nipae.Slug
	Text      string // empty for a tombstone
	Tombstone bool
	ID        string // of the event, 64 hex digits
	CreatedAt int64  // Unix seconds
	Size      int    // of Text in bytes
	Hash      string // of Text: see Hash; empty for a tombstone
}

// Hash returns the SHA-256 of a text in 64 lower-case hex digits: what
// SetOptions.Base is compared with.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// EntryOf makes the entry of a valid engram.
func EntryOf(e nipae.Engram) Entry {
	text, ok := e.Body.Text()
	entry := Entry{Slug: e.Slug(), Text: text, Tombstone: !ok, ID: e.Event.ID, CreatedAt: e.CreatedAt(), Size: len(text)}
	if ok {
		entry.Hash = Hash(text)
	}
	return entry
}
