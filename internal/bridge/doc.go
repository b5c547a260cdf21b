// Package bridge is the HTTP side of the relay's port: it hands websocket
// upgrades to the session and serves the relay information document (NIP-11),
// a page for browsers, the probes /healthz and /readyz, and, for requests that
// are signed (NIP-98), POST /events, /query and /count and GET /history.
//
// It answers errors as JSON, {"error":"prefix: text"}, and never redirects: a
// client that signed a request for one URL must not be sent to another.
package bridge
