// Package rot flips bits in what a relay and an agent's machine keep, and looks from
// outside at what becomes of each flip: it is found, or healed, or does no harm. In the
// database no event is ever served that differs from what was stored, and none is shown
// to who may not read it; the log of a relay that was killed starts with all that was
// acknowledged, or is refused; no other key comes into use, no other snapshot is
// restored, and no text is told that nobody wrote. What the store does with each column
// is in internal/relay/store/sqlite/events (rot_test.go).
package rot
