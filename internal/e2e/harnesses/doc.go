// Package harnesses runs the programs that people run their agents in, as npm ships
// them, against a stand-in for their model on loopback: what engramctl setup writes has
// to give a session its memory in each of them.
//
// The tests have the build tag harness and need the programs: make harness-test
// installs them, with the versions of testdata/harnesses.
package harnesses
