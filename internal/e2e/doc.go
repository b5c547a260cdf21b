// Package e2e holds, folder by folder, the tests that run the built engramd
// binary from outside:
//
//   - gate: nobody but the parties learns of a gated event, by any way out
//   - crash: what was acknowledged survives kills, power cuts, full disks,
//     deletions cut short, restores and databases of older versions
//   - power: what a disk holds when the power goes between any two of its calls
//   - linear: what many clients see at once can have happened one after the other
//   - rot: what becomes of a bit that flips in the database
//   - hostile: what one client does costs no other
//   - conformance: the protocol, and the faults of khatru that must not return
//   - contracts: contract memory over every surface
//   - replica: relays that follow others, over and over until they agree
//   - snapshots: bundles, and memory taken back
//   - sessions: an agent's sessions, with the hooks and the server of its harness
//   - harnesses: the programs that people run their agents in, with a stand-in for
//     their model (make harness-test)
//   - cluster: several nodes over one log, whose servers are killed and cut off; a
//     module of its own, for it links a NATS server (make cluster-test)
//   - operator: management, logs, status, HTTP, and what the docs show
//
// The relay as a child process, the client and the events are in relaytest;
// what the folders share beyond that is in rig. Package golden, for all tests,
// compares files that make generate writes.
package e2e
