package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/agent/view"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

type commitIn struct {
	Plan       string             `json:"plan"`
	Operations []consolidation.Op `json:"operations,omitempty" jsonschema:"[] if nothing is worth it"`
	Undo       bool               `json:"undo,omitempty"`
}

type commitOut struct {
	Plan    string        `json:"plan" jsonschema:"to undo it; empty if nothing was to be written"`
	Status  string        `json:"status,omitempty" jsonschema:"done, or proposed: it waits for the user"`
	Written []view.Change `json:"written"`
	Left    []leftOut     `json:"left,omitempty" jsonschema:"what somebody else changed meanwhile: it is as they wrote it"`
	Again   bool          `json:"again,omitempty" jsonschema:"true if this had been done before"`
	answer
}

type leftOut struct {
	Slug string `json:"slug"`
	Why  string `json:"why"`
}

const describeCommit = `Carry out operations on a plan, all or none. None deletes; undo takes back all that a plan wrote.`

func (s *mindTools) mindCommit(ctx context.Context, in commitIn) (commitOut, error) {
	ops, ok := ctx.Value(operationsKey{}).([]consolidation.Op)
	if !ok {
		return commitOut{}, invalidf("operations is missing: a list, which may be empty.")
	}
	for i := range ops {
		ops[i].Read = s.m.external.shown()
		ops[i].Copied, _ = s.m.external.copied(ops[i].Text + "\n\n" + ops[i].Description)
	}
	r, err := unbroken(ctx, s.m.calls, s.m.calls.memory, plansLock, func(ctx context.Context) (plans.Result, error) {
		return s.plans(ctx).Commit(ctx, strings.TrimSpace(in.Plan), ops)
	})
	if err != nil {
		return commitOut{}, mindFailure(err)
	}
	out := commitOut{Plan: r.ID, Status: string(r.Status), Written: view.ChangesOf(r), Left: leftOf(r.Left), Again: r.Again, answer: behind(r.Behind)}
	var slugs []nipae.Slug
	for _, c := range out.Written {
		slugs = append(slugs, nipae.Slug(c.Slug))
	}
	if !r.Again && len(slugs) > 0 {
		s.m.calls.changed(ctx, slugs...)
	}
	return out, nil
}

// plansLock has plans of this server wait for each other before they wait for those
// of other processes.
const plansLock = nipae.Slug("mem/sys/plans")

type operationsKey struct{}

// withOperations takes the operations out of the arguments of mind_commit, before
// the SDK validates them: as a list, as an object around one, as a text that is one
// of these, or as one operation alone. They are read as they stand in the message: what a
// model means must not depend on who reads it.
func withOperations(ctx context.Context, arguments json.RawMessage) (context.Context, json.RawMessage, error) {
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil || given["operations"] == nil {
		return ctx, arguments, nil
	}
	raw := []byte(given["operations"])
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = bytes.TrimSpace([]byte(text))
	}
	var one struct {
		Op json.RawMessage `json:"op"`
	}
	if bytes.HasPrefix(raw, []byte("{")) && json.Unmarshal(raw, &one) == nil && one.Op != nil {
		raw = slices.Concat([]byte("["), raw, []byte("]"))
	}
	ops, err := consolidation.ParseOps(bytes.NewReader(raw))
	if err != nil {
		return ctx, nil, mindFailure(err)
	}
	given["operations"] = json.RawMessage("[]")
	rest, err := json.Marshal(given)
	return context.WithValue(ctx, operationsKey{}, ops), rest, err
}

func leftOf(all []plans.Left) []leftOut {
	var out []leftOut
	for _, l := range all {
		out = append(out, leftOut{Slug: l.Slug, Why: frontmatter.OneLine(l.Why)})
	}
	return out
}

// leftSlugs names what was left.
func leftSlugs(all []plans.Left) string {
	const most = 10
	var names []string
	for _, l := range all[:min(most, len(all))] {
		names = append(names, l.Slug)
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// behind warns of relays that did not take all of it.
func behind(relays []string) answer {
	var a answer
	for _, url := range relays[:min(len(relays), maxWarnings)] {
		a.warn("%s did not take all of it", quoted(url))
	}
	return a
}

type undoIn struct {
	Plan  string `json:"plan" jsonschema:"id that mind_commit answered with"`
	Force bool   `json:"force,omitempty" jsonschema:"though some were changed since: the rest"`
}

type undoOut struct {
	Plan string    `json:"plan"`
	Back []string  `json:"back" jsonschema:"memories that are as they were before"`
	Left []leftOut `json:"left,omitempty" jsonschema:"what was changed since, and stays"`
	answer
}

const describeUndo = `Take back all that a plan wrote, as one act. If something was changed since, it says what, and changes nothing without force.`

func (s *mindTools) mindUndo(ctx context.Context, in undoIn) (undoOut, error) {
	r, err := unbroken(ctx, s.m.calls, s.m.calls.memory, plansLock, func(ctx context.Context) (plans.Undone, error) {
		return s.plans(ctx).Undo(ctx, strings.TrimSpace(in.Plan), in.Force)
	})
	if err != nil {
		return undoOut{}, mindFailure(err)
	}
	out := undoOut{Plan: r.ID, Back: append([]string{}, r.Back...), Left: leftOf(r.Left), answer: behind(r.Behind)}
	var slugs []nipae.Slug
	for _, slug := range r.Back {
		slugs = append(slugs, nipae.Slug(slug))
	}
	if len(slugs) > 0 {
		s.m.calls.changed(ctx, slugs...)
	}
	return out, nil
}
