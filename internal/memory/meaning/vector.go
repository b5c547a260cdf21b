// Package meaning compares texts by vectors: those of the model that is part of the
// program, or of one that an operator named.
package meaning

import (
	"errors"
	"fmt"
	"math"
)

// MaxDim is the most numbers that a vector has here.
const MaxDim = 8192

// ErrVectors are vectors that cannot be kept: of different lengths, too long, or
// with what is no number.
var ErrVectors = errors.New("not vectors of one model")

// Vector is a section's meaning, each number scaled to -127 to 127: the cosine of
// two vectors does not depend on their lengths.
type Vector []int8

// Quantized returns a vector of a model as it is kept.
func Quantized(v []float32) (Vector, error) {
	most := 0.0
	for _, f := range v {
		if a := math.Abs(float64(f)); math.IsNaN(a) || math.IsInf(a, 0) {
			return nil, fmt.Errorf("%w: one has what is no number", ErrVectors)
		} else if a > most {
			most = a
		}
	}
	if len(v) == 0 || len(v) > MaxDim || most == 0 {
		return nil, fmt.Errorf("%w: one is empty, too long or all zero", ErrVectors)
	}
	out := make(Vector, len(v))
	for i, f := range v {
		out[i] = int8(math.RoundToEven(float64(f) / most * 127))
	}
	return out, nil
}
