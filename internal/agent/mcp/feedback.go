package mcp

import (
	"context"
	"errors"
	"slices"
	"strings"

	"engramd/internal/agent/session"
	"engramd/nips/nipae"
)

// MaxJudged is how many memories one call may judge.
const MaxJudged = 20

// Judge notes that memories, which must exist, were useful or wrong, and returns
// the budget of tokens by then. Its errors are *session.JudgeError, and those of whatever
// keeps it.
type Judge func(ctx context.Context, useful bool, slugs []nipae.Slug) (budget int, err error)

type feedbackIn struct {
	Verdict string   `json:"verdict" jsonschema:"useful, wrong"`
	Slugs   []string `json:"slugs" jsonschema:"of which memories"`
}

type feedbackOut struct {
	Verdict string `json:"verdict"`
	Budget  int    `json:"budget" jsonschema:"tokens before archiving is proposed"`
}

const describeFeedback = `After a success that memories made possible, call them useful; or wrong, if they misled: they come sooner, or later, from then on. No text changes.`

func (s *mindTools) feedback(ctx context.Context, in feedbackIn) (feedbackOut, error) {
	verdict := strings.ToLower(strings.TrimSpace(in.Verdict))
	switch {
	case verdict != "useful" && verdict != "wrong":
		return feedbackOut{}, invalidf("verdict is useful or wrong.")
	case len(in.Slugs) == 0 || len(in.Slugs) > MaxJudged:
		return feedbackOut{}, invalidf("slugs names 1 to %d memories.", MaxJudged)
	}
	var slugs []nipae.Slug
	for _, given := range in.Slugs {
		slug, err := parseOwn(given)
		if err != nil {
			return feedbackOut{}, err
		}
		if !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	return reading(ctx, s.m.calls, func(ctx context.Context) (feedbackOut, error) {
		budget, err := s.m.mind.Judge(ctx, verdict == "useful", slugs)
		if err != nil {
			failed := &about{error: err}
			if one, ok := errors.AsType[*session.JudgeError](err); ok {
				failed.slug = one.Slug
			}
			return feedbackOut{}, failed
		}
		return feedbackOut{verdict, budget}, nil
	})
}
