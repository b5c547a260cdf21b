package mcp

import (
	"context"
	"strings"

	"engramd/internal/memory/write"
	"engramd/internal/secrets"
)

// maxLabel is the length of the longest label, in bytes.
const maxLabel = 200

type snapshotIn struct {
	Label string `json:"label,omitempty" jsonschema:"what it is before, in few words, kept in clear"`
}

type snapshotOut struct {
	ID        string `json:"id" jsonschema:"tell the user this: engramctl snapshot restore takes it"`
	Outcome   string `json:"outcome" jsonschema:"created, or unchanged: the last snapshot holds just this already, and id names it"`
	Memories  int    `json:"memories" jsonschema:"how many memories it holds, core and deletions included"`
	Size      int64  `json:"size" jsonschema:"bytes"`
	CreatedAt string `json:"created_at"`
	answer
}

func (s *writeTools) snapshot(ctx context.Context, in snapshotIn) (snapshotOut, error) {
	label := strings.TrimSpace(in.Label)
	if len(label) > maxLabel || strings.ContainsFunc(label, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return snapshotOut{}, invalidf("the label is longer than %d bytes, or not one line.", maxLabel)
	}
	if secrets.Check(label) != nil {
		return snapshotOut{}, invalidf("something in the label looks like a key or a token, and it is kept in clear text.")
	}
	return reading(ctx, s.m.calls, func(ctx context.Context) (snapshotOut, error) {
		made, err := s.m.session.Snapshots()(ctx, label)
		if err != nil {
			return snapshotOut{}, &about{error: err, status: made.Status}
		}
		out := snapshotOut{ID: made.ID, Outcome: string(write.Created), Memories: made.Memories, Size: made.Size, CreatedAt: stamp(made.CreatedAt), answer: s.m.calls.answerOf(made.Status)}
		if made.Unchanged {
			out.Outcome = string(write.Unchanged)
		}
		return out, nil
	})
}
