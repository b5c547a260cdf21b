// Package curve adds up many multiples of points of secp256k1, which is what
// checking many signatures at once comes down to. It takes less time for each
// point than any multiplication by itself.
//
// Everything here depends on the values in the time it takes, so that no secret
// may come near it.
package curve
