// Package cluster holds the tests of several nodes over one log: three NATS
// servers as processes, connected with each other and with their clients through
// proxies that can be cut, and killed and stopped while clients append and read.
// Those of this folder are clients of the log alone. In nodes are engramd processes
// over it, in work clients of these, which are those of engramd cluster verify, and in
// proof the tests that have them meet.
//
// It is a module of its own, because natsd links a NATS server, which the product
// must not. make cluster-test runs it; make cluster-soak kills fifty times,
// and has the faults that take longer: cuts between two servers, a full disk at the log's
// leader, clocks that are an hour wrong, half an hour off, a minority that halts.
package cluster
