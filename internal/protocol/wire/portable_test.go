//go:build !(libsecp256k1 && linux)

package wire

const maxVerifyAllocs = 10 // btcec's numbers
