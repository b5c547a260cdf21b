package mcp

import (
	"context"
	"errors"

	"engramd/internal/agent/why"
)

// maxTold is how many turns and texts one answer has: of a long session the last.
const maxTold = 128

type whyIn struct {
	Session string `json:"session,omitempty" jsonschema:"id, as its harness gives it; default this one, else the one told last"`
	Prompt  *int64 `json:"prompt,omitempty" jsonschema:"only that one, counted from 1; 0 is the start"`
}

type whyOut struct {
	why.Answer
	Earlier int `json:"earlier,omitempty" jsonschema:"how many turns before these are left out: ask for a prompt"`
}

// why needs no relay, so it waits for none.
func (s *Server) why(ctx context.Context, in whyIn) (whyOut, error) {
	told, err := s.o.Why(ctx, in.Session, in.Prompt)
	if unknown, ok := errors.AsType[*why.UnknownError](err); ok {
		return whyOut{}, &Failure{Code: CodeNotFound, Message: "This machine does not know it: " + unknown.What + ".", Action: "Go on without it: it says nothing about what is remembered.", cause: err}
	}
	cut := told.Cut(maxTold)
	return whyOut{told, cut}, err
}
