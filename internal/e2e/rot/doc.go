// Package rot flips bits in the database of a relay, and looks from outside at what
// becomes of each: it is found, or healed by the same events coming again, or does no
// harm. No event is ever served that differs from what was stored, and none is shown
// to who may not read it. What the store does with each column is in
// internal/relay/store/sqlite/events (rot_test.go).
package rot
