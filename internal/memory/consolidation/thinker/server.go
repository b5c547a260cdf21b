package thinker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/model"
)

// Server is a Thinker at a model server: /v1/chat/completions of OpenAI's form, as
// llama.cpp, Ollama and vLLM have it.
type Server struct {
	*model.Server
	free atomic.Bool // it takes no response_format
}

var _ Thinker = (*Server)(nil)

// NewServer returns a Server. It asks nothing yet. Errors are
// model.ErrURL and model.ErrPlaintext.
func NewServer(o model.Options) (*Server, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultLimit
	}
	o.MaxAnswer = MaxAnswer
	s, err := model.Open(o, "/chat/completions")
	if err != nil {
		return nil, err
	}
	return &Server{Server: s}, nil
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type format struct {
	Type string `json:"type"`
}

type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Stream   bool      `json:"stream"`
	Format   *format   `json:"response_format,omitempty"`
}

type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
}

// Think sends the plan as one message of the user: templates of some models have
// no other role. A server that refuses to be asked for JSON is asked without.
func (s *Server) Think(ctx context.Context, plan string) ([]consolidation.Op, error) {
	if len(plan) > MaxPlan {
		return nil, fmt.Errorf("%w: the plan has more than %d bytes", ErrFailed, MaxPlan)
	}
	in := request{Model: s.Model, Messages: []message{{Role: "user", Content: plan}}}
	if !s.free.Load() {
		in.Format = &format{Type: "json_object"}
	}
	var out completion
	err := s.Post(ctx, in, &out)
	if in.Format != nil && errors.Is(err, model.ErrRefused) {
		in.Format, out = nil, completion{}
		if err = s.Post(ctx, in, &out); err == nil {
			s.free.Store(true)
		}
	}
	switch {
	case errors.Is(err, model.ErrAnswer):
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	case len(out.Choices) != 1:
		return nil, fmt.Errorf("%w: the model server gave %d choices, and one is meant", ErrAnswer, len(out.Choices))
	case out.Choices[0].Finish == "length":
		return nil, fmt.Errorf("%w: the model server cut it off: its context, or its limit of tokens, is too small", ErrAnswer)
	}
	return Answer([]byte(out.Choices[0].Message.Content))
}
