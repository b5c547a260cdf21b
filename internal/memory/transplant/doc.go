// Package transplant carries memories from one agent to another with proof of where
// they are from: the original signed event, and the message keys that open it and
// nothing else (nips/disclose). An Origin stands in a proposal in place of a text;
// a Package of them is a file, signed by the giver and encrypted to the receiver by
// whoever writes it. It does no I/O and has no clock.
package transplant
