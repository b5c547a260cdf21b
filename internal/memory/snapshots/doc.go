// Package snapshots makes snapshots over the wire and reverts to them: what
// engramctl does with relays that it can only ask, as the agent or as its
// owner.
//
// A capture lists the memory, reads its history, and lists again until nothing
// has changed meanwhile. A revert writes old bodies again as new versions. All
// of them are made and signed first and put into a journal; then they are sent,
// core when all others are acknowledged. After a kill at any point each slug
// holds its old or its new value, and running it again goes on with the same
// events.
package snapshots
