// Package record is an event as rows: columns, tags, keys and their numbers. It is
// what those who write events and those who read them have in common.
package record
