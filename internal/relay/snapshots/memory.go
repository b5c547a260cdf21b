package snapshots

import "runtime/debug"

// freeMemory hands what a step used back to the system. The next one fills the
// database's own cache, and both together are what a host must have.
func freeMemory() { debug.FreeOSMemory() }
