// Package power takes the power away from a disk.
//
// A relay runs with a library before the C library (testdata/power/powercut.c) that
// writes down, in order and with the data, what SQLite does to the database, its log
// and the copies of a backup: what it opens, writes, cuts off, syncs and removes.
// From that the tests build what a disk may hold when the power goes between any
// two of those calls:
//
//   - none: only what a completed sync has made durable
//   - all: everything, though nobody had asked for it yet
//   - prefix: what was not synced up to a random point
//   - subset: any part of it, in whatever order the disk liked
//   - torn: all of it, but of the last write only some sectors of 512 bytes
//
// A name is durable by a sync of its file or its folder, a removed one until the
// folder is synced is not gone. What was not synced when a sync failed never becomes
// durable, as on Linux, where the pages are dropped. Each of these disks has to
// hold all that the relay had acknowledged before that moment, and nothing half.
//
// The library also makes calls fail (TestPower_Faults). One thing a failed sync leaves
// open: what was answered with "error: " because of it may be there after an end right
// behind it, for the kernel may have the commit that the disk has not.
//
// The layer sees the C library alone. Go makes its system calls itself, so that files
// of the os package (keys, snapshots, the name that a finished backup gets) are not
// cut here: they are given to each disk as they are at the end. The mark beside the
// database is one of them, and its order matters: the library reads it before each
// call, and a disk has it as it was at that moment; its own syncs are not seen. -shm
// is memory that several processes share, and no disk keeps it.
package power
