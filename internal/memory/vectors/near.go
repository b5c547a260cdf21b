package vectors

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/model"
	"engramd/internal/memory/vectors/embed"
)

// space is all vectors of one length, beside one another.
type space struct {
	dim     int
	numbers []int8
	inverse []float32      // of each vector's length
	first   map[string]int // of a slug's vectors
	count   map[string]int
}

// Near asks for the vector of a query and compares it with all that are there:
// the result is a recall.Query's Near. The error is the model server's, or that
// of reading the copy; then there are words only.
func (s *Source) Near(ctx context.Context, query string) (func(slug string, section int) (float64, bool), error) {
	prefix, _ := embed.Forms(s.model.Name())
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	raw, err := s.model.Embed(ctx, []string{prefix + query})
	if err != nil {
		return nil, err
	}
	q, err := localcopy.Quantized(raw[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrAnswer, err)
	}
	sp, err := s.load(ctx, len(q))
	if err != nil {
		return nil, err
	}
	cosines := sp.compare(q)
	return func(slug string, section int) (float64, bool) {
		if section < 0 || section >= sp.count[slug] {
			return 0, false
		}
		return float64(cosines[sp.first[slug]+section]), true
	}, nil
}

// load reads the vectors, if they are not those that were read before.
func (s *Source) load(ctx context.Context, dim int) (*space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.copy.Read(ctx, func(v *localcopy.View) error {
		at := v.VectorsAt()
		if s.space != nil && s.space.dim == dim && s.state == at {
			return nil
		}
		sp := &space{dim: dim, first: map[string]int{}, count: map[string]int{}}
		for slug, sections := range v.AllVectors(s.name) {
			sp.put(slug, sections)
		}
		s.space, s.state = sp, at
		return nil
	})
	return s.space, err
}

func (sp *space) put(slug string, sections []localcopy.Vector) {
	for _, v := range sections {
		if len(v) != sp.dim {
			return // of a server that changed its model under one name
		}
	}
	sp.first[slug], sp.count[slug] = len(sp.inverse), len(sections)
	for _, v := range sections {
		sp.numbers = append(sp.numbers, v...)
		sp.inverse = append(sp.inverse, inverse(v))
	}
}

// inverse returns 1 divided by the length of a vector, 0 for none.
func inverse(v []int8) float32 {
	if n := dot(v, v); n > 0 {
		return float32(1 / math.Sqrt(float64(n)))
	}
	return 0
}

// dot is the product of two vectors. Their length is at most localcopy.MaxDim, so
// that 32 bits hold it.
func dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += int32(a[0]) * int32(b[0])
		s1 += int32(a[1]) * int32(b[1])
		s2 += int32(a[2]) * int32(b[2])
		s3 += int32(a[3]) * int32(b[3])
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// compare returns the cosine of a query with each vector.
func (sp *space) compare(q []int8) []float32 {
	out := make([]float32, len(sp.inverse))
	length := inverse(q)
	parts := min(runtime.GOMAXPROCS(0), 8)
	size := (len(out) + parts - 1) / parts
	var wg sync.WaitGroup
	for from := 0; from < len(out); from += size {
		to := min(from+size, len(out))
		wg.Go(func() {
			for i := from; i < to; i++ {
				out[i] = float32(dot(sp.numbers[i*sp.dim:(i+1)*sp.dim], q)) * sp.inverse[i] * length
			}
		})
	}
	wg.Wait()
	return out
}
