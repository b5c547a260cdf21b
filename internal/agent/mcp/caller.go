package mcp

import (
	"context"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
)

// maxCaller is the longest name of a caller that is stamped.
const maxCaller = 40

type callerKey struct{}

// withCaller keeps the name of the program that calls, which is stamped into
// what it writes. It is the program's word, in letters, digits and . _ -.
func withCaller(ctx context.Context, info *sdk.Implementation) context.Context {
	name := "mcp"
	if info != nil {
		name = strings.Trim(strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
				return r
			case r >= 'A' && r <= 'Z':
				return r + 'a' - 'A'
			}
			return '-'
		}, info.Name[:min(len(info.Name), maxCaller)]), "-._")
	}
	if name == "" {
		name = "mcp"
	}
	return context.WithValue(ctx, callerKey{}, name)
}

// writer writes for the caller.
func (s *memories) writer(ctx context.Context) *write.Writer {
	source, _ := ctx.Value(callerKey{}).(string)
	session := s.session.ID(ctx)
	if session != "" {
		source += ":" + session
	}
	w := &write.Writer{Memory: s.session, Source: source, Session: session, Clock: s.clock, Copied: s.copied}
	if s.session.Source() != nil {
		w.Holds = func(ctx context.Context, slug string) []string {
			return recallanswer.Holds(ctx, s.session.Source(), slug)
		}
	}
	if at := s.session.Where(ctx); at.Linked {
		w.Project = at.Project
	}
	return w
}

// copied finds the external memory that a text was taken from: among those that
// this process has seen, then where the caller of the server looks.
func (s *memories) copied(text string) (string, bool) {
	if from, ok := s.external.copied(text); ok {
		return from, ok
	}
	return s.session.Copied(text)
}
