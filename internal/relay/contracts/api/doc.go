// Package api is the contract memory API over HTTP (docs/contracts.md): paths,
// parameters, JSON shapes and statuses over contracts.Service.
// The bridge has proved who is asking; the service decides what they may see
// and do.
//
// Requests are read strictly: a member or parameter that is unknown, given
// twice or of the wrong type is answered 400, with its name. The OpenAPI
// document at /api/openapi.json is made from the same table of operations that
// requests are routed by.
package api
