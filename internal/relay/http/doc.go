// Package relayhttp is the HTTP side of the relay's port: it hands websocket
// upgrades to the session and serves the relay information document (NIP-11),
// a page for browsers, the probes /healthz and /readyz, and, for requests that
// are signed (NIP-98), POST /events, /query and /count and GET /history.
//
// It answers errors as JSON, {"error":"prefix: text"}, and never redirects,
// because a client that signed a request for one URL must not be sent to
// another. An answer that fails half-way is cut off: a closed array would say
// that nothing is missing.
//
// A request is admitted by the proof in its header, then its body is read, then
// it takes a place in one of three pools (admission.go, body.go, limits.go). It
// holds no place while the relay waits for its client.
package relayhttp
