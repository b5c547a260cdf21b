package wiring

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"engramd/internal/relay/config"
	"engramd/internal/relay/policy"
)

// disk is what a file system has, in bytes.
type disk struct{ total, free int64 }

// Room measures store.max_bytes. tight says that hardly more than a tenth of the
// disk is free, or less.
func Room(cfg *config.Config) (b policy.RoomBounds, tight bool, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(cfg.Data, &fs); err != nil {
		return b, false, fmt.Errorf("free space: %w", err)
	}
	var used int64
	if info, err := os.Stat(Database(cfg.Data).Path); err == nil {
		used = info.Size()
	}
	b, tight = roomOn(disk{int64(fs.Blocks) * int64(fs.Bsize), int64(fs.Bavail) * int64(fs.Bsize)}, used, cfg.Store.MaxBytes, cfg.Cluster.Enabled)
	return b, tight, nil
}

// roomOn returns the room of a database of a size. Of a limit that somebody set
// a tenth is kept for known keys. Else a tenth of the disk is left free, and a
// twentieth of it kept. Where that leaves nothing the relay may have half of what
// is free, so that it does not stop at its update or for a neighbour's files.
//
// What is kept does not become less while the database grows, or each start would
// give strangers a part of it: it goes by the whole of the room, not by what is left.
func roomOn(d disk, used, most int64, cluster bool) (b policy.RoomBounds, tight bool) {
	switch {
	case most > 0:
		return policy.RoomBounds{Max: most, Reserve: most / 10}, false
	case most == 0 && !cluster:
		return b, false
	}
	spare := d.free - d.total/10
	if tight = spare < d.total/100; tight {
		spare = d.free / 2
	}
	room := used + spare
	return policy.RoomBounds{Max: room, Reserve: min(d.total/20, room/2), Whole: cluster}, tight
}
