// Package snapshot is where bundles lie and what is decided about them: the
// folders of tenants and agents, the list, pins, deletion and retention, one
// lock per agent, the difference of two bundles, and the plan of a restore.
//
// The format is package bundle's. Where events come from and go to is the
// caller's: the package knows neither database nor network.
package snapshot
