package schnorr

import (
	"crypto/rand"
	"crypto/sha256"
	"slices"

	"github.com/btcsuite/btcd/btcec/v2"

	"engramd/internal/schnorr/curve"
)

// Signed is a message of 32 bytes and the signature that a key made of it.
type Signed struct {
	Key, Msg [32]byte
	Sig      [64]byte
}

// Fewest is from how many signatures on All takes less time than Verify.
const Fewest = 192

// All reports whether all signatures hold (BIP-340, batch verification). If it
// says no, at least one does not, and Verify tells which.
//
// Each says that s G - R - e P is the point at infinity. They are added up, each
// multiplied by 128 random bits that who made them cannot know: a sum that
// vanishes has a wrong one among them once in 2^128 times. Adding up takes less
// a third of checking each, and the terms of one key become one.
func All(signed []Signed) bool {
	b := batch{
		terms:  make([]curve.Term, 0, 2*len(signed)+1),
		keys:   make(map[[32]byte]*btcec.ModNScalar),
		random: make([]byte, digits*len(signed)),
	}
	rand.Read(b.random) // it does not fail
	for i := range signed {
		if !b.add(&signed[i]) {
			return false
		}
	}
	return b.holds()
}

// digits is how long the random factors are, in bytes.
const digits = 16

type batch struct {
	terms  []curve.Term
	keys   map[[32]byte]*btcec.ModNScalar // what each is multiplied by
	g      btcec.ModNScalar               // and the generator
	random []byte
}

// add adds one signature, and reports false for one that cannot hold.
func (b *batch) add(s *Signed) bool {
	var product btcec.ModNScalar
	if product.SetBytes((*[32]byte)(s.Sig[32:])) != 0 {
		return false
	}
	r, ok := curve.Lift((*[32]byte)(s.Sig[:32]))
	if !ok {
		return false
	}
	var bytes []byte
	bytes, b.random = b.random[:digits:digits], b.random[digits:]
	factor := value(bytes)
	b.terms = append(b.terms, curve.Term{Point: r, Digits: bytes})
	b.g.Add(product.Mul(&factor).Negate())

	of := b.keys[s.Key]
	if of == nil {
		of = new(btcec.ModNScalar)
		b.keys[s.Key] = of
	}
	e := challenge(s)
	of.Add(e.Mul(&factor))
	return true
}

// holds adds everything up.
func (b *batch) holds() bool {
	for key, factor := range b.keys {
		p, ok := curve.Lift(&key)
		if !ok {
			return false
		}
		b.terms = append(b.terms, curve.Term{Point: p, Digits: digitsOf(factor)})
	}
	b.terms = append(b.terms, curve.Term{Point: curve.Generator(), Digits: digitsOf(&b.g)})
	return curve.Zero(b.terms)
}

// challenge is e of BIP-340: a tagged hash of R, the key and the message.
func challenge(s *Signed) (e btcec.ModNScalar) {
	var text [160]byte
	copy(text[:], tag[:])
	copy(text[32:], tag[:])
	copy(text[64:], s.Sig[:32])
	copy(text[96:], s.Key[:])
	copy(text[128:], s.Msg[:])
	sum := sha256.Sum256(text[:])
	e.SetBytes(&sum)
	return e
}

var tag = sha256.Sum256([]byte("BIP0340/challenge"))

// value is the number that digits stand for, see curve.Term.
func value(digits []byte) (v btcec.ModNScalar) {
	v = number(digits)
	o := offset(len(digits))
	v.Add(o.Negate())
	return v
}

// digitsOf are 32 digits that stand for v.
func digitsOf(v *btcec.ModNScalar) []byte {
	o := offset(32)
	bytes := o.Add(v).Bytes()
	slices.Reverse(bytes[:])
	return bytes[:]
}

// offset is by how much the number of n digits is more than what they stand for.
func offset(n int) btcec.ModNScalar {
	return number(slices.Repeat([]byte{128}, n))
}

// number is a number of up to 32 bytes, the lowest first, modulo the curve's order.
func number(bytes []byte) (v btcec.ModNScalar) {
	var b [32]byte
	for i, x := range bytes {
		b[31-i] = x
	}
	v.SetBytes(&b)
	return v
}
