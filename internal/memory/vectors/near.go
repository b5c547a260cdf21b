package vectors

import (
	"context"

	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/meaning"
	"engramd/internal/memory/recall"
)

// Near asks for the vectors of texts, a query and perhaps parts of it, and compares each
// with all that are there once it is asked for. The error is the model server's, or that
// of reading the copy; then there are words only.
func (s *Source) Near(ctx context.Context, texts ...string) (recall.Near, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	queries, err := meaning.Queries(ctx, s.model, texts)
	if err != nil {
		return nil, err
	}
	sp, err := s.load(ctx, len(queries[texts[0]]))
	if err != nil {
		return nil, err
	}
	var own meaning.Usual
	if sp.Len() < meaning.Few {
		if own, err = s.own(ctx); err != nil {
			return nil, err
		}
	}
	return sp.Near(queries, own), nil
}

// load reads the vectors, if they are not those that were read before.
func (s *Source) load(ctx context.Context, dim int) (*meaning.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.copy.Read(ctx, func(v *localcopy.View) error {
		at := v.VectorsAt()
		if s.space != nil && s.space.Dim() == dim && s.state == at {
			return nil
		}
		sp := meaning.NewSpace(dim)
		for slug, sections := range v.AllVectors(s.name) {
			sp.Put(slug, sections)
		}
		s.space, s.state = sp, at
		return nil
	})
	return s.space, err
}

// own is UsualOf the source's model, which is asked once.
func (s *Source) own(ctx context.Context) (meaning.Usual, error) {
	s.mu.Lock()
	own := s.usual
	s.mu.Unlock()
	if own.Deviation > 0 {
		return own, nil
	}
	own, err := meaning.UsualOf(ctx, s.model)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usual = own
	return own, err
}
