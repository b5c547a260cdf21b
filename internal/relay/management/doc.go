// Package management is the relay's management API (NIP-86): bans and lists of
// writers, banned events, the relay's name and description, and its snapshots.
//
// It takes calls from keys that the configuration names, whose signature
// (NIP-98) the caller of this package has checked. A call's change is written
// to the database together with its line in the audit table, and only then
// takes effect, for the next event and the next connection. Lists of the
// configuration and of the database are united: no call overrides the
// configuration.
//
// Every answer is made of what managing keys have entered and of the
// configuration. Nothing here reads events.
//
// Where several nodes hold the same memory, a change takes effect when it was
// executed, in the common order and on every node: by Applied, at the node that
// was called too.
package management
