// Package model is a second, small and slow reading of what NIP-TEMP says of
// contract memory, and random contracts to play against it, for tests to compare
// the product with: whose an id is, which moves count, which number everything
// has, what was withdrawn or left a gap, who decides, and who may read what.
//
// It shares no code with the product and must not: it folds nothing and keeps no
// index, but follows one event after the other, as they come to one relay.
package model
