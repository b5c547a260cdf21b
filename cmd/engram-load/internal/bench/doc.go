// Package bench measures several relays in turn, as a TOML file says: it starts
// each from a command line, over an empty folder or one that was filled before,
// runs the workloads of package load against it, and keeps every result.
//
// The order is A B A B: each round measures all servers, so that what drifts on
// the machine meets all of them. A server that fails a workload has no figure
// for it: the failure is the result.
package bench
