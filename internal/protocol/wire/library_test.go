//go:build libsecp256k1 && linux

package wire

const maxVerifyAllocs = 0
