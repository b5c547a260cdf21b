// Package bundle is the file format of snapshots: an agent's memory at one
// instant as a tar of signed events with a manifest, compressed with zstd and,
// if wanted, encrypted with age.
//
// Write takes events from a Source and makes one file of them. Verify reads a
// file and says for every check whether it holds, failed or could not be made.
// Open verifies and then hands out the events, of an incremental bundle those
// of its parents too.
//
// Every entry name, header and order is fixed, so the same events and options
// give the same bytes before encryption, and a reader needs to understand
// nothing but what Write makes: whatever differs is refused. Reading uses
// bounded memory whatever the file holds. The package knows neither database
// nor network.
package bundle
