// Package intentions says when an intention is due, and which ones a prompt is about.
// It is pure: it reads units and views, and what is to be written it returns as
// changes. Clocks are its callers'.
//
// An intention is a unit of type prospective. Its occurrences are a series: the
// first at due, each further one a period (every) later, none after until. All
// that have begun and were not closed are open, and count as one ([Intention.Open]),
// so a machine that slept, or a clock that jumped, loses none. Closing moves due to
// the first occurrence after now, or ends the intention. Snoozing leaves due alone.
//
// Each occurrence has a key, by which a session knows what it was shown ([Seen]).
// A clock that goes back makes no new occurrence of one that was shown.
//
// A trigger in words is compared with a prompt by the share of what its words say
// that the prompt says too ([Matcher]).
package intentions
