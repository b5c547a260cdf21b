package membership

import (
	"encoding/binary"
	"os"
	"path/filepath"
)

// PastFile has the hashes of what a node has read, of the newest million numbers: each
// with its number, at a place of its own. It is not synced: what it lacks is unknown.
const (
	PastFile = "cluster.past"
	pastSlot = 8 + 16
	pastMost = 1 << 20
)

// Past is a cluster.Past.
type Past struct{ f *os.File }

// OpenPast opens the one of a data folder, or makes it.
func OpenPast(dir string) (*Past, error) {
	f, err := os.OpenFile(filepath.Join(dir, PastFile), os.O_RDWR|os.O_CREATE, 0o600)
	return &Past{f}, err
}

// Note implements cluster.Past.
func (p *Past) Note(number uint64, hash [16]byte) {
	slot := append(binary.BigEndian.AppendUint64(make([]byte, 0, pastSlot), number), hash[:]...)
	_, _ = p.f.WriteAt(slot, int64(number%pastMost)*pastSlot) // what cannot be written is unknown
}

// At implements cluster.Past.
func (p *Past) At(number uint64) (hash [16]byte, known bool) {
	slot := make([]byte, pastSlot)
	if _, err := p.f.ReadAt(slot, int64(number%pastMost)*pastSlot); err != nil || binary.BigEndian.Uint64(slot) != number {
		return hash, false
	}
	return [16]byte(slot[8:]), true
}

// Close closes it.
func (p *Past) Close() error { return p.f.Close() }
