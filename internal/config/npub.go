package config

import (
	"encoding/hex"
	"errors"
	"strings"
)

const bech32Alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

// decodeNpub reads the key in an npub (NIP-19: BIP-173 bech32 of 32 bytes) as
// 64 lower-case hex digits.
func decodeNpub(s string) (string, error) {
	if s != strings.ToLower(s) && s != strings.ToUpper(s) {
		return "", errors.New("upper and lower case are mixed")
	}
	s = strings.ToLower(s)
	data, ok := strings.CutPrefix(s, "npub1")
	if !ok || len(data) != 52+6 {
		return "", errors.New("an npub is npub1 and 58 characters")
	}
	sum := checksum(1, 'n'>>5, 'p'>>5, 'u'>>5, 'b'>>5, 0, 'n'&31, 'p'&31, 'u'&31, 'b'&31)
	var key []byte
	var acc uint32
	bits := 0
	for i := range len(data) {
		v := strings.IndexByte(bech32Alphabet, data[i])
		if v < 0 {
			return "", errors.New("a character is not of bech32")
		}
		sum = checksum(sum, byte(v))
		if i >= 52 {
			continue
		}
		acc, bits = acc<<5|uint32(v), bits+5
		if bits >= 8 {
			bits -= 8
			key = append(key, byte(acc>>bits))
			acc &= 1<<bits - 1
		}
	}
	if sum != 1 {
		return "", errors.New("its checksum is wrong, so a character is mistyped")
	}
	if acc != 0 {
		return "", errors.New("its padding is not zero")
	}
	return hex.EncodeToString(key), nil
}

// checksum continues the BIP-173 checksum over five-bit values.
func checksum(sum uint32, values ...byte) uint32 {
	for _, v := range values {
		top := sum >> 25
		sum = (sum&0x1ffffff)<<5 ^ uint32(v)
		for i, gen := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				sum ^= gen
			}
		}
	}
	return sum
}
