package meaning

import (
	"context"

	"engramd/internal/memory/meaning/matrix"
)

// Matrix is the model that is part of the program: it asks nobody.
type Matrix struct{}

// Name is the model's, with its version.
func (Matrix) Name() string { return "matrix " + matrix.Version() }

// Dim is how many numbers a vector has.
func (Matrix) Dim() int { return matrix.Dims }

// Usual is what cosines are usual.
func (Matrix) Usual() Usual {
	return Usual{float64(matrix.Mean()), float64(matrix.Deviation())}
}

// Embed returns the vectors of texts. One without a word that is known is nearly nothing,
// so that it is near to nothing.
func (Matrix) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		if all[i] = matrix.Vector(t); all[i] == nil {
			all[i] = unknown()
		}
	}
	return all, ctx.Err()
}

// unknown is a vector that is near to no text's.
func unknown() []float32 {
	v := make([]float32, matrix.Dims)
	v[0], v[1] = 1, -1
	return v
}
