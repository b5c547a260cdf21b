package curve

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
)

// times is a multiple of the generator, computed by another implementation.
func times(tb testing.TB, k int) Point {
	tb.Helper()
	var factor btcec.ModNScalar
	factor.SetInt(uint32(max(k, -k)))
	if k < 0 {
		factor.Negate()
	}
	var j btcec.JacobianPoint
	btcec.ScalarBaseMultNonConst(&factor, &j)
	j.ToAffine()
	var out Point
	if !out.x.set(j.X.Bytes()) || !out.y.set(j.Y.Bytes()) {
		tb.Fatal("not below p")
	}
	return out
}

// of is the point with some other denominator: z is anything but 0.
func of(p Point, z uint64) sum {
	s := sum{p.x, p.y, field{z, z}}
	var zz field
	zz.square(&s.z)
	s.x.mul(&s.x, &zz)
	zz.mul(&zz, &s.z)
	s.y.mul(&s.y, &zz)
	return s
}

func (s sum) equals(tb testing.TB, k int) bool {
	tb.Helper()
	if k == 0 || s.infinite() {
		return k == 0 && s.infinite()
	}
	want := of(times(tb, k), 1)
	for power := 2; power <= 3; power++ { // x z^-2, then y z^-3
		left, right := s.x, want.x
		if power == 3 {
			left, right = s.y, want.y
		}
		for range power {
			left.mul(&left, &want.z)
			right.mul(&right, &s.z)
		}
		if left.sub(&left, &right); !left.zero() {
			return false
		}
	}
	return true
}

// Sums of small multiples are equal, opposite and infinite as often as not, in
// whatever form they are.
func TestAddAgreesWithMultiples(t *testing.T) {
	for a := -4; a <= 4; a++ {
		var left sum
		if a != 0 {
			left = of(times(t, a), 5)
		}
		twice := left
		if twice.double(); !twice.equals(t, 2*a) {
			t.Errorf("2 * %d is wrong", a)
		}
		for b := -4; b <= 4; b++ {
			var right sum
			if b != 0 {
				point := times(t, b)
				right = of(point, 7)
				got := left
				if got.addPoint(&point, false); !got.equals(t, a+b) {
					t.Errorf("%d + the point %d is wrong", a, b)
				}
				got = left
				if got.addPoint(&point, true); !got.equals(t, a-b) {
					t.Errorf("%d - the point %d is wrong", a, b)
				}
			}
			got := left
			if got.add(&right); !got.equals(t, a+b) {
				t.Errorf("%d + %d is wrong", a, b)
			}
		}
	}
}

func TestLift(t *testing.T) {
	for k := 1; k < 50; k++ {
		want := times(t, k)
		odd := want.y[0]&1 == 1
		if odd {
			want = times(t, -k)
		}
		x := [32]byte(want.x.big().FillBytes(make([]byte, 32)))
		got, ok := Lift(&x)
		if got.y.normal(); !ok || got != want {
			t.Errorf("%d: %v %x, want %x", k, ok, got, want)
		}
	}
	if g := Generator(); g != times(t, 1) {
		t.Errorf("the generator is %x", g)
	}
	plusOne := [32]byte(new(big.Int).Add(p, big.NewInt(1)).FillBytes(make([]byte, 32))) // 1 is of a point
	for name, x := range map[string][32]byte{"p + 1": plusOne, "5, of no point": {31: 5}} {
		if _, ok := Lift(&x); ok {
			t.Errorf("%s is lifted", name)
		}
	}
}

// Terms vanish when their factors, multiplied by what their points are of the
// generator, add up to 0, and do not when one digit of one of them is another.
func TestZero(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 3, 10, 200} {
		var terms []Term
		var total btcec.ModNScalar
		for range n {
			k := 1 + r.IntN(5) // so that the same points and their opposites meet
			digits := make([]byte, []int{1, 16, 32}[r.IntN(3)])
			for i := range digits {
				digits[i] = byte(r.Uint32())
			}
			factor := less(digits)
			var by btcec.ModNScalar
			by.SetInt(uint32(k))
			sign := 1
			if r.IntN(2) == 0 {
				sign = -1
				by.Negate()
			}
			terms = append(terms, Term{times(t, sign*k), digits})
			total.Add(by.Mul(&factor))
		}
		offset := number(slices.Repeat([]byte{128}, 32))
		last := total.Negate().Add(&offset).Bytes()
		slices.Reverse(last[:])
		terms = append(terms, Term{Generator(), last[:]})
		if !Zero(terms) {
			t.Errorf("%d terms do not vanish", n)
		}
		for range 20 {
			term := &terms[r.IntN(len(terms))]
			digit := &term.Digits[r.IntN(len(term.Digits))]
			was := *digit
			*digit += byte(1 + r.IntN(255))
			if Zero(terms) {
				t.Errorf("%d terms vanish with another digit", n)
			}
			*digit = was
		}
	}
	if !Zero(nil) {
		t.Error("nothing does not vanish")
	}
}

// less is the number of the digits less that of as many 128s.
func less(digits []byte) btcec.ModNScalar {
	n, offset := number(digits), number(slices.Repeat([]byte{128}, len(digits)))
	n.Add(offset.Negate())
	return n
}

func number(digits []byte) (n btcec.ModNScalar) {
	var b [32]byte
	for i, d := range digits {
		b[31-i] = d
	}
	n.SetBytes(&b)
	return n
}
