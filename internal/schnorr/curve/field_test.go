package curve

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

var p = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(fold))

func (z *field) big() *big.Int {
	n := new(big.Int)
	for i := 3; i >= 0; i-- {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(z[i]))
	}
	return n
}

// operands are numbers of every form: what carries, what has a second form, and
// anything between.
func operands() []field {
	const all = full
	out := []field{
		{}, {1}, {2}, {fold - 1}, {fold}, {fold + 1}, {all}, {0, all}, {0, 0, 0, 1 << 63},
		{lowest, all, all, all}, {lowest - 1, all, all, all}, {lowest + 1, all, all, all}, {all, all, all, all}, {all - 1, all, all, all},
		{0, 0, 0, all}, {all, 0, 0, all}, {0, all, all, all}, {all, all, all, all >> 1},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		var f field
		for i := range f {
			if f[i] = r.Uint64(); r.IntN(4) == 0 {
				f[i] = -(f[i] & 1) // all bits alike
			}
		}
		out = append(out, f)
	}
	return out
}

// Every operation gives what big numbers give, also into its own operand.
func TestFieldAgreesWithBigNumbers(t *testing.T) {
	all := operands()
	check := func(name string, got *field, want *big.Int, of ...field) {
		t.Helper()
		if new(big.Int).Mod(got.big(), p).Cmp(want.Mod(want, p)) != 0 {
			t.Errorf("%s of %x: %x, want %x", name, of, got.big(), want)
		}
		if isZero := want.Sign() == 0; got.zero() != isZero {
			t.Errorf("%s of %x: zero is %v", name, of, got.zero())
		}
		if got.normal(); got.big().Cmp(want) != 0 {
			t.Errorf("%s of %x: the normal form is %x, want %x", name, of, got.big(), want)
		}
	}
	for _, x := range all {
		var z field
		z.square(&x)
		check("square", &z, new(big.Int).Mul(x.big(), x.big()), x)
		z = x
		z.square(&z)
		check("square in place", &z, new(big.Int).Mul(x.big(), x.big()), x)
		z.double(&x)
		check("double", &z, new(big.Int).Lsh(x.big(), 1), x)
		for _, y := range all {
			for name, op := range map[string]struct {
				do   func(z, x, y *field)
				want *big.Int
			}{
				"add": {(*field).add, new(big.Int).Add(x.big(), y.big())},
				"sub": {(*field).sub, new(big.Int).Sub(x.big(), y.big())},
				"mul": {(*field).mul, new(big.Int).Mul(x.big(), y.big())},
			} {
				op.do(&z, &x, &y)
				check(name, &z, new(big.Int).Set(op.want), x, y)
				left, right := x, y
				op.do(&left, &left, &y)
				check(name+" into x", &left, new(big.Int).Set(op.want), x, y)
				op.do(&right, &x, &right)
				check(name+" into y", &right, new(big.Int).Set(op.want), x, y)
			}
		}
	}
}

func TestRootAgreesWithBigNumbers(t *testing.T) {
	for _, x := range operands() {
		var z, back field
		want := big.Jacobi(new(big.Int).Mod(x.big(), p), p) != -1
		if got := z.root(&x); got != want {
			t.Errorf("%x has a root: %v", x.big(), got)
		} else if back.square(&z); got {
			if back.sub(&back, &x); !back.zero() {
				t.Errorf("%x is no root of %x", z.big(), x.big())
			}
		}
	}
}

func TestSetRefusesWhatIsNotBelowP(t *testing.T) {
	for _, x := range operands() {
		var b [32]byte
		x.big().FillBytes(b[:])
		var z field
		if got, want := z.set(&b), x.big().Cmp(p) < 0; got != want || got && z != x {
			t.Errorf("%x: %v and %x, want %v", b, got, z, want)
		}
	}
}

func BenchmarkField(b *testing.B) {
	all := operands()
	x, y := all[len(all)-1], all[len(all)-2]
	b.Run("mul", func(b *testing.B) {
		for range b.N {
			x.mul(&x, &y)
		}
	})
	b.Run("square", func(b *testing.B) {
		for range b.N {
			x.square(&x)
		}
	})
	b.Run("root", func(b *testing.B) {
		for range b.N {
			x.root(&y)
		}
	})
}
