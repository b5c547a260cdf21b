// Package restore brings snapshots back: events are staged beside other writers and
// switched in at once, and what a rollback takes away lies in quarantine.
package restore
