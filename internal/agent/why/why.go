// Package why says what hooks told a session of the agent unasked, and why: slugs, versions
// and reasons, and never a text.
package why

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/state"
)

// Answer is what a session was told.
type Answer struct {
	Session string `json:"session"`
	Harness string `json:"harness"`
	Turns   []Turn `json:"turns"`
}

// Turn is the start of a session, or a prompt.
type Turn struct {
	Prompt   int64  `json:"prompt" jsonschema:"0 is the start, or that after a compaction"`
	Time     string `json:"time"`
	Silent   string `json:"silent,omitempty" jsonschema:"late or failed: nothing was told"`
	Told     []Text `json:"told"`
	Withheld []Text `json:"withheld"`
}

// Text is one that a turn was told, or that was withheld from it.
type Text struct {
	Slug     string `json:"slug"`
	Version  string `json:"version,omitempty" jsonschema:"left out where no relay had it"`
	Reason   string `json:"reason"`
	Replaced bool   `json:"replaced" jsonschema:"by now there is another version, or none"`
}

// UnknownError means that of what was asked for nothing is known.
type UnknownError struct{ What string }

// Error implements error.
func (e *UnknownError) Error() string { return client.ErrNotFound.Error() + ": " + e.What }

// Unwrap gives errors.Is the kind.
func (e *UnknownError) Unwrap() error { return client.ErrNotFound }

const knownSessions = 5 // that are named where one is not known

// Of says what a session was told, or a prompt of it: "" is the session that was told last,
// nil all of it. source says what has been replaced since; nil says it of nothing.
func Of(ctx context.Context, turns state.Turns, source answer.Source, id string, prompt *int64) (Answer, error) {
	newest, err := turns.Newest(ctx, knownSessions)
	if err != nil || len(newest) == 0 {
		return Answer{}, cmp.Or(err, error(&UnknownError{"no session was told anything by a hook in the last 30 days"}))
	}
	all, err := turns.Of(ctx, cmp.Or(id, newest[0]))
	if err != nil || len(all) == 0 {
		return Answer{}, cmp.Or(err, error(&UnknownError{"nothing is known of that session; the last ones are " + strings.Join(newest, ", ")}))
	}
	out := Answer{Session: all[0].ID, Harness: all[0].Harness, Turns: []Turn{}}
	replaced := replacedIn(ctx, source)
	for _, t := range all {
		if prompt == nil || t.Prompt == *prompt {
			out.Turns = append(out.Turns, turnOf(t, replaced))
		}
	}
	if len(out.Turns) == 0 {
		return Answer{}, &UnknownError{fmt.Sprintf("nothing is known of prompt %d of session %s, which had %d", *prompt, out.Session, all[len(all)-1].Prompt)}
	}
	return out, nil
}

// Cut leaves the last turns, of at most that many parts, each turn and each text being one,
// and returns how many went. The last one stays.
func (a *Answer) Cut(most int) (cut int) {
	for cut = len(a.Turns); cut > 0; cut-- {
		t := a.Turns[cut-1]
		if most -= 1 + len(t.Told) + len(t.Withheld); most < 0 && cut < len(a.Turns) {
			break
		}
	}
	a.Turns = a.Turns[cut:]
	return cut
}

// replacedIn says which versions are no longer the newest.
func replacedIn(ctx context.Context, source answer.Source) func(state.Told) bool {
	if source == nil {
		return func(state.Told) bool { return false }
	}
	var now map[string]string
	whole := false
	err := source.Read(ctx, func(v answer.View) error {
		now, whole = map[string]string{}, !v.State().Unfinished
		for _, h := range v.Heads() {
			now[h.Slug] = h.ID
		}
		return nil
	})
	return func(t state.Told) bool {
		id, known := now[t.Slug]
		return err == nil && t.Event != "" && (known || whole) && id != t.Event
	}
}

func turnOf(t state.Turn, replaced func(state.Told) bool) Turn {
	out := Turn{Prompt: t.Prompt, Time: t.Seen.Format(time.RFC3339), Told: []Text{}, Withheld: []Text{}}
	if t.Note == state.Late || t.Note == state.Failed {
		out.Silent = t.Note
	}
	for _, text := range t.Texts {
		to := &out.Told
		if text.Withheld {
			to = &out.Withheld
		}
		*to = append(*to, Text{text.Slug, text.Event, text.Reason, replaced(text)})
	}
	return out
}
