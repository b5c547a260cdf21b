// Package kind holds the numbers of kinds of events for which neither go-nostr
// nor a package of nips has a name. Engrams are nipae.Kind, the kinds of
// contract memory niptemp.KindEntry and its like.
package kind

// Vanish is a request to vanish (NIP-62).
const Vanish = 62
