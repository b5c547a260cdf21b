package mcp

import (
	"context"

	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

type editIn struct {
	Slug        string `json:"slug" jsonschema:"core or mem/x/y"`
	OldStr      string `json:"old_str" jsonschema:"as it stands there, once"`
	NewStr      string `json:"new_str" jsonschema:"may be empty"`
	Base        string `json:"base,omitempty" jsonschema:"hash there now"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"if told to"`
}

func (s *writeTools) edit(ctx context.Context, in editIn) (writeOut, error) {
	slug, base, err := parseTarget(in.Slug, in.Base)
	if err != nil {
		return writeOut{}, err
	}
	return writing(ctx, s.m.calls, []nipae.Slug{slug}, func(ctx context.Context) (writeOut, error) {
		r, err := s.m.writer(ctx).Edit(ctx, slug, in.OldStr, in.NewStr, memory.SetOptions{Base: base, Check: guard(in.AllowSecret, true)})
		if err != nil {
			return writeOut{}, failedWrite(slug, r, err)
		}
		return s.m.wrote(slug, r), nil
	})
}
