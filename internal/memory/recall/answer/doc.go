// Package answer answers questions to a memory: recall as one block that
// fits a budget, search with snippets, lists, counts by month, and what is
// similar to a text that is being written.
//
// It reads a View, which is a memory at one moment: a local copy, or what relays
// sent (Load). Every answer carries the State of its view. An answer that is
// empty means that nothing fits only if State.Silent does not say otherwise: a
// copy that no relay has confirmed lately, or that is not whole yet, may lack
// what was asked for.
package answer
