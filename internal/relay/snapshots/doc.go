// Package snapshots makes, verifies, restores and keeps snapshots for the owner
// of the database: the commands of `engramd snapshot`, the management API, and
// the daemon's own schedule and retention are all calls of its Service.
//
// A Service works beside a daemon on what needs files only, or reads; what
// writes to the database needs the open store of the process that owns it.
package snapshots
