// Package contracts is the service behind the contract memory API
// (NIP-TEMP): contracts and their state machine, entries shared and private,
// summary and search, for callers who have proved who they are.
//
// The store's contract states are the truth: kind-30091 events on the websocket
// and the API move the same rows. Shared entries are kind-30090 events in the
// relay and its history; private entries are sealed in a table of their own.
// Signing, sealing, the names of agents and publishing elsewhere are behind the
// interfaces in Options.
package contracts
