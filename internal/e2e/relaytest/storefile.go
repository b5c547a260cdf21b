package relaytest

import "github.com/nbd-wtf/go-nostr"

// StoreKey is the number of the key that is the identity of the relays which made
// the databases under testdata/stores.
const StoreKey = 9

// StoreExpectation says what a database file under testdata/stores holds. It
// lies beside the file as expect.json.
type StoreExpectation struct {
	Version string   `json:"version"` // of the software that wrote the file
	Heads   []string `json:"heads"`   // ids that export brings
	History []string `json:"history"` // further ids that export --history brings

	Refused  []Attempt      `json:"refused"`  // events that must be refused, with the message or its prefix
	Accepted []*nostr.Event `json:"accepted"` // events that must be stored, in this order
	Search   map[string]int `json:"search"`   // how many events a search for a word brings
}

// Attempt is an event and the answer that it must get.
type Attempt struct {
	Event   *nostr.Event `json:"event"`
	Message string       `json:"message"`
}
