//go:build !(libsecp256k1 && linux)

package schnorr

import (
	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// parsed is a point of the curve.
type parsed struct{ key *btcec.PublicKey }

func (p *parsed) parse(key *[32]byte) bool {
	var err error
	p.key, err = schnorr.ParsePubKey(key[:])
	return err == nil
}

func (p *parsed) verify(msg *[32]byte, sig *[64]byte) bool {
	s, err := schnorr.ParseSignature(sig[:])
	return err == nil && s.Verify(msg[:], p.key)
}
