// Package batch checks many BIP-340 signatures as one sum, for imports. It
// stands beside schnorr so that only programs that import link the library of
// points. It is for files whose signatures are nearly all good: a client could
// make every one of its batches fail.
package batch

import (
	"crypto/rand"
	"crypto/sha256"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"

	"engramd/internal/protocol/schnorr"
)

// fewest is from how many signatures on checking them at once can pay.
const fewest = 256

// Hold reports whether all of many signatures hold (BIP-340). False says
// nothing: one does not, or they are too few or of too many keys for this to be
// faster than one by one.
func Hold(signed []schnorr.Signed) bool { return len(signed) >= fewest && all(signed) }

// all reports whether all signatures hold (BIP-340, batch verification). If it
// says no, one does not, or they are of too many keys for it to be any faster.
//
// Each says that s G - R - e P is the point at infinity. They are added up,
// each multiplied by 128 random bits that who made them cannot know: a sum that
// vanishes has a wrong one among them once in 2^128 times. The terms of one key
// become one, so that keys cost as much as signatures.
func all(signed []schnorr.Signed) bool {
	b := batch{
		points:  make([]secp256k1.G1Affine, 0, 2*len(signed)+1),
		factors: make([]fr.Element, 0, 2*len(signed)+1),
		keys:    make(map[[32]byte]int),
		random:  make([]byte, randomBytes*len(signed)),
	}
	for i := range signed {
		if b.keys[signed[i].Key] = -1; len(b.keys) > max(1, len(signed)/2) {
			return false
		}
	}
	rand.Read(b.random) // it does not fail
	for i := range signed {
		if !b.add(&signed[i]) {
			return false
		}
	}
	return b.vanishes()
}

// randomBytes is how long the random factors are.
const randomBytes = 16

// batch is a sum of multiples of points.
type batch struct {
	points    []secp256k1.G1Affine
	factors   []fr.Element
	keys      map[[32]byte]int // where in both each key is, -1 before it is there
	generator fr.Element       // what the generator is multiplied by
	random    []byte
}

// add adds one signature, and reports false for one that cannot hold.
func (b *batch) add(s *schnorr.Signed) bool {
	var response, factor, e fr.Element
	if response.SetBytesCanonical(s.Sig[32:]) != nil {
		return false
	}
	r, ok := lift(s.Sig[:32])
	if !ok {
		return false
	}
	factor.SetBytes(b.random[:randomBytes])
	b.random = b.random[randomBytes:]
	b.points, b.factors = append(b.points, r), append(b.factors, factor)
	b.generator.Sub(&b.generator, response.Mul(&response, &factor))

	at := b.keys[s.Key]
	if at < 0 {
		p, ok := lift(s.Key[:])
		if !ok {
			return false
		}
		at = len(b.points)
		b.keys[s.Key] = at
		b.points, b.factors = append(b.points, p), append(b.factors, fr.Element{})
	}
	e = challenge(s)
	b.factors[at].Add(&b.factors[at], e.Mul(&e, &factor))
	return true
}

// vanishes reports whether everything adds up to the point at infinity.
func (b *batch) vanishes() bool {
	_, g := secp256k1.Generators()
	var sum secp256k1.G1Jac
	_, err := sum.MultiExp(append(b.points, g), append(b.factors, b.generator), ecc.MultiExpConfig{NbTasks: 1})
	return err == nil && sum.Z.IsZero()
}

// lift returns the point with an even y whose x are these 32 bytes, the highest
// first, and false if there is none (BIP-340, lift_x).
func lift(x []byte) (p secp256k1.G1Affine, ok bool) {
	if p.X.SetBytesCanonical(x) != nil {
		return p, false
	}
	var square fp.Element
	square.Square(&p.X).Mul(&square, &p.X)
	seven := fp.NewElement(7)
	square.Add(&square, &seven)
	if p.Y.Sqrt(&square) == nil {
		return p, false
	}
	if y := p.Y.Bytes(); y[31]&1 == 1 {
		p.Y.Neg(&p.Y)
	}
	return p, true
}

// challenge is e of BIP-340: a tagged hash of R, the key and the message.
func challenge(s *schnorr.Signed) (e fr.Element) {
	var text [160]byte
	copy(text[:], tag[:])
	copy(text[32:], tag[:])
	copy(text[64:], s.Sig[:32])
	copy(text[96:], s.Key[:])
	copy(text[128:], s.Msg[:])
	sum := sha256.Sum256(text[:])
	e.SetBytes(sum[:])
	return e
}

var tag = sha256.Sum256([]byte("BIP0340/challenge"))
