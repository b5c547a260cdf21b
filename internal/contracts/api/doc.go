// Package api is the contract memory API over HTTP (30-nip-temp, "The contract
// memory API"): paths, parameters, JSON shapes and statuses over
// contracts.API. The bridge has proved who is asking; what they may see and do
// the service decides.
//
// Requests are read strictly: a member or parameter that is unknown, given
// twice or of the wrong type is 400 and named. The OpenAPI document at
// /api/openapi.json is made from the same table of operations that requests
// are routed by.
package api
