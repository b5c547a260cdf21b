//go:build !race

package plans

// raced says that tests run with the race detector, which makes them slow.
const raced = false
