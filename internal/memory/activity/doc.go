// Package activity says how active each unit of a memory is, which ones may
// come unasked into a context, and which could be archived where there are too
// many. It is pure: no I/O, and the clock is given.
//
// Search never forgets: it looks through everything. Activation chooses only
// what comes without being asked for (HotSet) and in which order archiving is
// proposed (Candidates). Its term of age lies between 0.5 and 0, so nothing is
// priced out for being old.
package activity
