// Package linear judges whether what several clients saw at one time can have
// happened one after the other. Eight clients write, compare and set, and read the
// head of a replaceable and of an addressable event at once, in half of the histories
// across a kill; porcupine looks for an order of all that which explains each answer
// and contradicts none that was there before the next began.
package linear
