// Package consolidation plans what becomes of a memory when somebody thinks about it:
// which units are shown (Prepare), and what the operations that a thinker answers
// with would write (Check). It is pure: no I/O, no clock, no state. Who thinks, and
// who writes, is above.
//
// A Plan is bound to the hashes of what it shows, so that an answer to something
// else is a conflict. Operations are data from a model that may have read hostile
// text: they are judged as a whole before anything is written, and one that is
// wrong refuses all of them. None deletes, none raises trust, and what adds stands
// before what takes away.
package consolidation
