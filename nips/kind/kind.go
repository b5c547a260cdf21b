// Package kind holds the numbers of kinds of events for which neither go-nostr
// nor a package of nips has a name. Engrams are nipae.Kind, the kinds of
// contract memory niptemp.KindEntry and its like.
package kind

const (
	// Vanish is a request to vanish (NIP-62).
	Vanish = 62
	// Statement is a signed word on something else, such as the manifest of a
	// snapshot or the order of a contract's memory. It is handed to those who ask
	// and never published.
	Statement = 24174
)
