package meaning

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestCosine: the fast comparison agrees with the plain one.
func TestCosine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, dim := range []int{1, 3, 4, 384, 767} {
		sp := NewSpace(dim)
		var all []Vector
		for i := range 50 {
			all = append(all, vector(r, dim))
			sp.Put(fmt.Sprint(i), all[i:])
		}
		q := vector(r, dim)
		n, _ := sp.Near(map[string]Vector{"q": q}, Usual{})("q")
		for i := range all {
			c, ok := n.Cosine(fmt.Sprint(i), 0)
			if want := cosine(all[i], q); !ok || math.Abs(c-want) > 1e-5 {
				t.Fatalf("dim %d: %v, not %v", dim, c, want)
			}
		}
	}
}

func cosine(v, o Vector) float64 {
	var dot, a, b float64
	for i := range v {
		x, y := float64(v[i]), float64(o[i])
		dot, a, b = dot+x*y, a+x*x, b+y*y
	}
	if a == 0 || b == 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
}

func vector(r *rand.Rand, dim int) Vector {
	v := make(Vector, dim)
	for i := range v {
		v[i] = int8(r.IntN(255) - 127)
	}
	return v
}

// BenchmarkCompare is one query over 100,000 vectors of 768 dimensions.
func BenchmarkCompare(b *testing.B) {
	const many, dim = 100_000, 768
	r := rand.New(rand.NewPCG(1, 2))
	sp := NewSpace(dim)
	for i := range many {
		sp.Put(fmt.Sprint(i), []Vector{vector(r, dim)})
	}
	q := vector(r, dim)
	n, _ := sp.Near(map[string]Vector{"q": q}, Usual{})("q")
	for b.Loop() {
		for i := range many {
			n.Cosine(fmt.Sprint(i), 0)
		}
	}
}
