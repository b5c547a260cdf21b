package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/frontmatter"
)

// hookPrompt tells what was intended and is due, and recalls what bears on a prompt,
// from the local copy alone.
func (a *app) hookPrompt(ctx context.Context, h hook.Harness, in hook.Input) (string, error) {
	id := sessionName(in.Session)
	if id == "" {
		return "", nil // what was shown would not be known
	}
	return a.inState(ctx, func(c *client.Client, state *memorystate.State) (string, error) {
		return a.prompted(ctx, c, state, h, in, id)
	})
}

// prompted is hookPrompt with what this machine knows of the pair.
func (a *app) prompted(ctx context.Context, c *client.Client, state *memorystate.State, h hook.Harness, in hook.Input, id string) (string, error) {
	// The copy is opened while the prompt is counted: each waits for the disk.
	var err error
	opened := make(chan *localcopy.Mirror, 1)
	question := hook.Question(in.Prompt)
	if !h.Injects(hook.Prompt) {
		question = ""
	}
	go func() {
		var kept *localcopy.Mirror
		defer func() { opened <- kept }()
		defer recovered()
		if h.Injects(hook.Prompt) {
			kept, err = a.lying(ctx)
		}
	}()
	where, unsure := standingOf(ctx, state, in.Folder) // of no project: nothing is known of it
	counted := state.Sessions.Prompted(ctx, where.session(memorystate.Session{ID: id, Harness: string(h)}))
	kept := <-opened
	if kept == nil || err != nil || counted != nil {
		return "", cmp.Or(err, counted)
	}
	a.later(func() { _ = kept.Leave() })
	told := telling{state: state, copy: lyingSource(kept, c), session: id, harness: string(h), question: question,
		prompt: cmp.Or(question, in.Prompt)}
	if where.Name != "" {
		if unsure != nil {
			return "", unsure
		}
		told.place = where.place()
	}
	if told.scope, err = toldScope(ctx, state, where, question); err != nil {
		return "", err
	}
	if told.seen, err = state.Sessions.Shown(ctx, id); err != nil {
		return "", err
	}
	text, slugs, err := a.intended(ctx, told)
	if err != nil {
		return "", err
	}
	told.left, told.already = hook.BlockBudget-len(text), slugs
	block, err := a.recalled(ctx, told)
	if text != "" && (block == "" || err != nil) {
		return text, nil // it is noted as told
	}
	if text != "" {
		text += "\n"
	}
	return text + block, err
}

// telling is what a prompt is answered from.
type telling struct {
	state                      *memorystate.State
	copy                       answer.Source
	session, harness, question string
	// prompt is what triggers are compared with: also one that is too short to be
	// recalled for.
	prompt string
	place  intentions.Place
	// left is how many bytes a block may have, and already are the memories that are
	// told beside it.
	left    int
	already []string
	seen    []memorystate.Shown
	// scope is whose memory is told. In a folder that is not known to be its
	// project's nothing of any project comes unasked: who made it may read along.
	scope answer.Scope
}

// lyingSource reads a copy that nobody brings up to date here. It is confirmed if
// the configured relays have confirmed it lately, by whoever did.
func lyingSource(kept *localcopy.Mirror, c *client.Client) answer.Source {
	return answer.Local(kept, func() ([]string, bool) { return c.Relays(), true })
}

// recalled makes the block of what is new to a session, and notes that it was
// shown.
func (a *app) recalled(ctx context.Context, told telling) (string, error) {
	if told.question == "" || told.left < answer.MinBudget {
		return "", nil
	}
	shown := map[string][]string{} // hashes by slug
	for _, s := range told.seen {
		shown[s.Slug] = append(shown[s.Slug], s.Hash)
	}
	var ours []memorystate.Shown
	for range 3 { // another hook of the session may show the same meanwhile
		var block string
		var units []memorystate.Shown
		var as answer.State
		err := told.copy.Read(ctx, func(v answer.View) error {
			as = v.State()
			q := answer.Query{Text: told.question, Budget: told.left, MinTrust: frontmatter.Derived.String(), Holds: true, Scope: told.scope, Shown: func(slug string, section int) bool {
				text, ok := v.Text(slug)
				return slices.Contains(told.already, slug) || ok && (slices.Contains(shown[slug], hashOf(text)) || slices.Contains(shown[slug], partOf(text, section)))
			}}
			found, err := answer.Tell(v, q, time.Now())
			if err != nil {
				return nil // there is no word in it
			}
			block, units = found.Block, nil
			for _, hit := range found.Hits { // of which a title stands there was not told
				switch text, _ := v.Text(hit.Slug); {
				case hit.Whole:
					units = append(units, memorystate.Shown{Slug: hit.Slug, Hash: hashOf(text)})
				case hit.Part >= 0:
					units = append(units, memorystate.Shown{Slug: hit.Slug, Hash: partOf(text, hit.Part)})
				}
			}
			return nil
		})
		if err != nil || block == "" || ctx.Err() != nil {
			return "", cmp.Or(err, ctx.Err())
		}
		a.telling.Store(true)
		// What waits for another process ends in time, and notes nothing.
		fresh, err := told.state.Sessions.Recall(ctx, told.session, told.harness, units)
		if err != nil {
			return "", err
		}
		old := slices.DeleteFunc(slices.Clone(units), func(u memorystate.Shown) bool { return slices.Contains(fresh, u) || slices.Contains(ours, u) })
		if len(old) == 0 {
			return hook.Recalled(block, as.AsOf, as.Stale || as.Unfinished), nil
		}
		for _, u := range old {
			shown[u.Slug] = append(shown[u.Slug], u.Hash)
		}
		ours = append(ours, fresh...) // noted by us, and not told yet
	}
	return "", nil
}

// shownOf names texts as the state does.
func shownOf(units []hook.Unit) []memorystate.Shown {
	var all []memorystate.Shown
	for _, u := range units {
		all = append(all, memorystate.Shown{Slug: u.Slug, Hash: hashOf(u.Text)})
	}
	return all
}

// partOf names a section of a text as hashOf names the whole.
func partOf(text string, section int) string { return fmt.Sprintf("%s %d", hashOf(text), section) }

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// hookSubagent tells titles of the project's memory.
func (a *app) hookSubagent(ctx context.Context, h hook.Harness, in hook.Input) (string, error) {
	if !h.Injects(hook.SubagentStart) {
		return "", nil
	}
	return a.inState(ctx, func(c *client.Client, state *memorystate.State) (text string, err error) {
		where, err := standingOf(ctx, state, in.Folder)
		if err != nil || !where.linked {
			return "", err
		}
		kept, err := a.lying(ctx)
		if err != nil || kept == nil {
			return "", err
		}
		a.later(func() { _ = kept.Leave() })
		err = lyingSource(kept, c).Read(ctx, func(v answer.View) error {
			text = hook.Titles(briefing.Project(v, where.memory(false)))
			return nil
		})
		return text, err
	})
}

// hookStop asks a session once what it wants to remember.
func (a *app) hookStop(ctx context.Context, _ hook.Harness, in hook.Input) (string, error) {
	id := sessionName(in.Session)
	if id == "" || in.Active {
		return "", nil
	}
	return a.inState(ctx, func(_ *client.Client, state *memorystate.State) (string, error) {
		yes, err := state.Sessions.Ask(ctx, id, hook.MinPrompts)
		if !yes || err != nil {
			return "", err
		}
		return hook.Ask, nil
	})
}

// hookEnd tells nothing: it notes that the session is over.
func (a *app) hookEnd(ctx context.Context, _ hook.Harness, in hook.Input) (string, error) {
	id := sessionName(in.Session)
	if id == "" {
		return "", nil
	}
	return a.inState(ctx, func(_ *client.Client, state *memorystate.State) (string, error) {
		return "", state.Sessions.End(ctx, id)
	})
}

// inState runs do on the pair's state, if there is one.
func (a *app) inState(ctx context.Context, do func(*client.Client, *memorystate.State) (string, error)) (string, error) {
	c, m, err := a.open(ctx)
	if err != nil {
		return "", err
	}
	a.later(c.Close)
	state := a.stateOf(ctx, m, a.NoteLine)
	if state == nil {
		return "", nil
	}
	a.later(func() { _ = state.Close() })
	return do(c, state)
}
