// Package matrix gives texts vectors without a server: the mean of the rows of their
// words' pieces in a matrix that is part of the program. Texts that mean the same in
// other words, or in another language, are near each other.
//
// CARD.md says what the rows were made of, and make model makes them again.
package matrix

import (
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
)

// The file is a head, one scale for each row, and the rows in steps of their scale;
// all little-endian. The row's weight in a mean is part of its scale.
const (
	magic = "ENGRAMW1"
	form  = 1
	// magic, form, rows, dims, mean, deviation, sum
	headBytes = 8 + 3*4 + 2*4 + sumBytes
	// sumBytes is how many bytes of the SHA-256 of what follows the head and of the
	// vocabulary are its version. A start has no time to add up nine megabytes.
	sumBytes = 8
)

//go:embed matrix.bin
var embedded string

//go:embed vocab.txt
var embeddedPieces string

var shared = sync.OnceValue(func() *matrix {
	m, err := parse(embedded, embeddedPieces)
	if err != nil {
		panic(err) // TestTheEmbeddedMatrixIsWhole
	}
	return m
})

// Dims is how many numbers a vector has.
const Dims = 256

// matrix is a matrix and the pieces that its rows are of.
type matrix struct {
	pieces          *vocabulary
	scales, rows    string
	mean, deviation float32
	version         string
}

var errFile = errors.New("matrix: its file is damaged")

func parse(file, pieces string) (*matrix, error) {
	if len(file) < headBytes || file[:len(magic)] != magic {
		return nil, fmt.Errorf("%w: it has no head", errFile)
	}
	head := []byte(file[len(magic):headBytes])
	number := func(i int) uint32 { return binary.LittleEndian.Uint32(head[4*i:]) }
	n := int(number(1))
	if number(0) != form || number(2) != Dims || n > 1<<20 || len(file) != headBytes+n*(4+Dims) {
		return nil, fmt.Errorf("%w: its size is not what its head says", errFile)
	}
	v, err := newVocabulary(pieces)
	if err != nil {
		return nil, err
	}
	if v.len() != n {
		return nil, fmt.Errorf("%w: it has %d rows for %d pieces", errFile, n, v.len())
	}
	return &matrix{
		pieces: v, scales: file[headBytes : headBytes+4*n], rows: file[headBytes+4*n:],
		mean: math.Float32frombits(number(3)), deviation: math.Float32frombits(number(4)),
		version: hex.EncodeToString(head[5*4:]),
	}, nil
}

// vector returns the mean of a text's rows, of length 1, or nil if it has none.
func (m *matrix) vector(text string) []float32 {
	ids := m.pieces.ids(text)
	if len(ids) == 0 {
		return nil
	}
	out := make([]float32, Dims)
	for _, id := range ids {
		scale := math.Float32frombits(binary.LittleEndian.Uint32([]byte(m.scales[4*id : 4*id+4])))
		row := m.rows[Dims*int(id):][:Dims]
		for i := range out {
			out[i] += scale * float32(int8(row[i]))
		}
	}
	square := 0.0
	for _, f := range out {
		square += float64(f) * float64(f)
	}
	if square == 0 {
		return nil
	}
	by := float32(1 / math.Sqrt(square))
	for i := range out {
		out[i] *= by
	}
	return out
}

// Vector returns a text's vector, of length 1; nil if no piece of it is known. It
// reads the first MostPieces pieces of the first MostBytes bytes.
func Vector(text string) []float32 {
	return shared().vector(strings.ToValidUTF8(text[:min(len(text), MostBytes)], " "))
}

// Version names the matrix: vectors of two versions cannot be compared.
func Version() string { return shared().version }

// Mean and Deviation are those of cosines of sentences that have nothing to do with
// each other: what a collection that is too small to have its own may take.
func Mean() float32 { return shared().mean }

// Deviation is described at Mean.
func Deviation() float32 { return shared().deviation }
