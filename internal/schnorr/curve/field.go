package curve

import (
	"encoding/binary"
	"math/bits"
)

// field is an element of the field of p = 2^256 - fold, as a number below 2^256
// in four words, the lowest first. Numbers below fold have a second form, with p
// added, which normal removes; every operation takes both. The receiver may be
// an operand too.
type field [4]uint64

const (
	fold   = 1<<32 + 977  // 2^256 modulo p
	lowest = 1<<64 - fold // the lowest word of p; in the others all bits are set
	full   = 1<<64 - 1
)

// add sets z = x + y.
func (z *field) add(x, y *field) {
	r0, c := bits.Add64(x[0], y[0], 0)
	r1, c := bits.Add64(x[1], y[1], c)
	r2, c := bits.Add64(x[2], y[2], c)
	r3, c := bits.Add64(x[3], y[3], c)
	r0, c = bits.Add64(r0, fold&-c, 0)
	r1, c = bits.Add64(r1, 0, c)
	r2, c = bits.Add64(r2, 0, c)
	r3, c = bits.Add64(r3, 0, c)
	z[0], z[1], z[2], z[3] = r0+fold&-c, r1, r2, r3 // after a second carry the rest is below fold
}

// sub sets z = x - y.
func (z *field) sub(x, y *field) {
	r0, c := bits.Sub64(x[0], y[0], 0)
	r1, c := bits.Sub64(x[1], y[1], c)
	r2, c := bits.Sub64(x[2], y[2], c)
	r3, c := bits.Sub64(x[3], y[3], c)
	r0, c = bits.Sub64(r0, fold&-c, 0)
	r1, c = bits.Sub64(r1, 0, c)
	r2, c = bits.Sub64(r2, 0, c)
	r3, c = bits.Sub64(r3, 0, c)
	z[0], z[1], z[2], z[3] = r0-fold&-c, r1, r2, r3 // after a second borrow the lowest word is above fold
}

// double sets z = 2 x.
func (z *field) double(x *field) { z.add(x, x) }

// mul sets z = x y: a row for each word of x.
func (z *field) mul(x, y *field) {
	y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
	var c uint64

	w := x[0]
	h0, r0 := bits.Mul64(w, y0)
	h1, r1 := bits.Mul64(w, y1)
	h2, r2 := bits.Mul64(w, y2)
	h3, r3 := bits.Mul64(w, y3)
	r1, c = bits.Add64(r1, h0, 0)
	r2, c = bits.Add64(r2, h1, c)
	r3, c = bits.Add64(r3, h2, c)
	r4 := h3 + c

	w = x[1]
	h0, l0 := bits.Mul64(w, y0)
	h1, l1 := bits.Mul64(w, y1)
	h2, l2 := bits.Mul64(w, y2)
	h3, l3 := bits.Mul64(w, y3)
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	h3 += c
	r1, c = bits.Add64(r1, l0, 0)
	r2, c = bits.Add64(r2, l1, c)
	r3, c = bits.Add64(r3, l2, c)
	r4, c = bits.Add64(r4, l3, c)
	r5 := h3 + c

	w = x[2]
	h0, l0 = bits.Mul64(w, y0)
	h1, l1 = bits.Mul64(w, y1)
	h2, l2 = bits.Mul64(w, y2)
	h3, l3 = bits.Mul64(w, y3)
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	h3 += c
	r2, c = bits.Add64(r2, l0, 0)
	r3, c = bits.Add64(r3, l1, c)
	r4, c = bits.Add64(r4, l2, c)
	r5, c = bits.Add64(r5, l3, c)
	r6 := h3 + c

	w = x[3]
	h0, l0 = bits.Mul64(w, y0)
	h1, l1 = bits.Mul64(w, y1)
	h2, l2 = bits.Mul64(w, y2)
	h3, l3 = bits.Mul64(w, y3)
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	h3 += c
	r3, c = bits.Add64(r3, l0, 0)
	r4, c = bits.Add64(r4, l1, c)
	r5, c = bits.Add64(r5, l2, c)
	r6, c = bits.Add64(r6, l3, c)
	z.reduce(r0, r1, r2, r3, r4, r5, r6, h3+c)
}

// square sets z = x x: what lies beside the diagonal is computed once and
// doubled.
func (z *field) square(x *field) {
	x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
	h01, r1 := bits.Mul64(x0, x1)
	h02, r2 := bits.Mul64(x0, x2)
	h03, r3 := bits.Mul64(x0, x3)
	h12, l12 := bits.Mul64(x1, x2)
	h13, r4 := bits.Mul64(x1, x3)
	h23, r5 := bits.Mul64(x2, x3)
	r2, c := bits.Add64(r2, h01, 0)
	r3, c = bits.Add64(r3, h02, c)
	r4, c = bits.Add64(r4, h03, c)
	r5, c = bits.Add64(r5, h13, c)
	r6 := h23 + c
	r3, c = bits.Add64(r3, l12, 0)
	r4, c = bits.Add64(r4, h12, c)
	r5, c = bits.Add64(r5, 0, c)
	r6 += c

	r7 := r6 >> 63
	r6 = r6<<1 | r5>>63
	r5 = r5<<1 | r4>>63
	r4 = r4<<1 | r3>>63
	r3 = r3<<1 | r2>>63
	r2 = r2<<1 | r1>>63
	r1 <<= 1

	h0, r0 := bits.Mul64(x0, x0)
	h1, l1 := bits.Mul64(x1, x1)
	h2, l2 := bits.Mul64(x2, x2)
	h3, l3 := bits.Mul64(x3, x3)
	r1, c = bits.Add64(r1, h0, 0)
	r2, c = bits.Add64(r2, l1, c)
	r3, c = bits.Add64(r3, h1, c)
	r4, c = bits.Add64(r4, l2, c)
	r5, c = bits.Add64(r5, h2, c)
	r6, c = bits.Add64(r6, l3, c)
	z.reduce(r0, r1, r2, r3, r4, r5, r6, r7+h3+c)
}

// reduce sets z to a number of 512 bits: the upper half is multiplied by fold and
// added to the lower, then what goes beyond 2^256 again, below 2^34, and then
// the one that may do so.
func (z *field) reduce(r0, r1, r2, r3, r4, r5, r6, r7 uint64) {
	h0, l0 := bits.Mul64(r4, fold)
	h1, l1 := bits.Mul64(r5, fold)
	h2, l2 := bits.Mul64(r6, fold)
	h3, l3 := bits.Mul64(r7, fold)
	l1, c := bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	h3 += c
	r0, c = bits.Add64(r0, l0, 0)
	r1, c = bits.Add64(r1, l1, c)
	r2, c = bits.Add64(r2, l2, c)
	r3, c = bits.Add64(r3, l3, c)
	h0, l0 = bits.Mul64(h3+c, fold)
	r0, c = bits.Add64(r0, l0, 0)
	r1, c = bits.Add64(r1, h0, c)
	r2, c = bits.Add64(r2, 0, c)
	r3, c = bits.Add64(r3, 0, c)
	r0, c = bits.Add64(r0, fold&-c, 0)
	z[0], z[1], z[2], z[3] = r0, r1+c, r2, r3 // after a third carry the rest is below 2^68
}

// squares sets z = x^(2^n).
func (z *field) squares(x *field, n int) {
	*z = *x
	for range n {
		z.square(z)
	}
}

// zero reports whether z is 0, in either form.
func (z *field) zero() bool {
	return z[0]|z[1]|z[2]|z[3] == 0 || z[0] == lowest && z[1]&z[2]&z[3] == full
}

// normal sets z to its form below p.
func (z *field) normal() {
	if z[1]&z[2]&z[3] == full && z[0] >= lowest {
		*z = field{z[0] + fold}
	}
}

// set reads a number of 32 bytes, the highest first, and reports whether it is
// below p.
func (z *field) set(b *[32]byte) bool {
	for i := range z {
		z[i] = binary.BigEndian.Uint64(b[24-8*i:])
	}
	n := *z
	n.normal()
	return n == *z
}

// root sets z to a root of x, and reports whether x has one. As p is 3 modulo 4,
// it is x^((p+1)/4): in binary 223 ones, 0, 22 ones, 0000, 11, 00.
func (z *field) root(x *field) bool {
	ones := [...]field{*x, 11: {}} // x^(2^n - 1) for n = 1, 2, 3, 6, 9, 11, 22, 44, 88, 176, 220, 223
	for i, step := range [...]struct{ squares, by int }{
		{1, 0}, {1, 0}, {3, 2}, {3, 2}, {2, 1}, {11, 5}, {22, 6}, {44, 7}, {88, 8}, {44, 7}, {3, 2},
	} {
		next := &ones[i+1]
		next.squares(&ones[i], step.squares)
		next.mul(next, &ones[step.by])
	}
	var r, check field
	r.squares(&ones[11], 23)
	r.mul(&r, &ones[6])
	r.squares(&r, 6)
	r.mul(&r, &ones[1])
	r.squares(&r, 2)
	check.square(&r)
	check.sub(&check, x)
	*z = r
	return check.zero()
}
