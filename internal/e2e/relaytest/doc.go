// Package relaytest runs the engramd binary as a child process and speaks to
// it as a client would. It knows the command line and the wire only: nothing
// of the product is imported, so that what is tested is what is shipped.
//
// A test builds the binary once per run (Binary), starts a child on free ports
// (Start), dials it (Dial) and asks. Every wait has a deadline; nothing sleeps.
package relaytest

// T is what the package needs of a test. *testing.T satisfies it, and so does
// the demo, which is no test.
type T interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
	TempDir() string
}
