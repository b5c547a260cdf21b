// Package jetstream is the log of a cluster (cluster.Log) over NATS JetStream,
// and what nodes tell each other beside it.
//
// Three or more servers keep the log as a stream with replicas, of which each
// has it in a file. A message that is acknowledged is synced by a majority of
// them, but only if the servers and the stream are set up for it, and that is
// not what they do by default: Check asks all servers, and refuses by name what
// is otherwise (settings.go, servers.go).
//
// A message has no message id, and the servers' search for duplicates is not
// used. A node appends the same bytes again where it has to: what came behind a
// gap is void and must enter once more, and a mark tells where the log ends now.
// Both would be answered with the number of the first one.
//
// There are two connections: one for the log, one for what may wait behind large
// messages (ephemeral events, backups). Each is to one of the servers and moves
// to another when that one is gone, or answers nothing.
package jetstream
