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

func sign(key *[32]byte, sig *[64]byte, secret, msg, aux *[32]byte) bool {
	var scalar btcec.ModNScalar
	defer scalar.Zero()
	if scalar.SetBytes(secret) != 0 || scalar.IsZero() {
		return false
	}
	own := btcec.PrivKeyFromScalar(&scalar)
	defer own.Zero()
	copy(key[:], schnorr.SerializePubKey(own.PubKey()))
	made, err := schnorr.Sign(own, msg[:], schnorr.CustomNonce(*aux))
	if err == nil {
		copy(sig[:], made.Serialize())
	}
	return err == nil
}
