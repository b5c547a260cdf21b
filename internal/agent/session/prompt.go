package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Telling is what a prompt is answered from: what was intended and is due, and what
// is remembered and bears on it, of what is new to the session.
type Telling struct {
	State *memorystate.State
	Copy  answer.Source
	// Session is the session's name, and Harness the program that runs the agent.
	Session, Harness string
	// Question is what the memory is asked, "" for nothing. Prompt is what triggers
	// are compared with: also one that is too short to be recalled for.
	Question, Prompt string
	Place            intentions.Place
	// Scope is whose memory is told. In a folder that is not known to be its
	// project's nothing of any project comes unasked: who made it may read along.
	Scope answer.Scope
	// Noting is called before something is noted as told: then it must be told.
	Noting func()

	left    int      // bytes that a block may have
	already []string // memories that are told beside it
	seen    []memorystate.Shown
	view    answer.View // while the copy is read
}

// OnDisk reads a copy that this process does not bring up to date. It is confirmed
// if the configured relays have confirmed it lately, for any process. What waits in the
// state is laid over it.
func (s *Session) OnDisk(kept *localcopy.Copy, state *memorystate.State) answer.Source {
	return s.Outbox.over(answer.Local(kept, func() ([]string, bool) { return s.Client.Relays(), true }), func(context.Context) *memorystate.State { return state })
}

// Again tells a session once, if it began while no relay answered, that the memory is
// available: the copy was confirmed since. "" is nothing to tell.
func (t *Telling) Again(ctx context.Context, kept *localcopy.Copy, relays []string) (text string, err error) {
	fresh, err := kept.Freshness(ctx, relays)
	if err != nil {
		return "", err
	}
	if yes, err := t.State.Sessions.Heard(ctx, t.Session, fresh.Latest); !yes {
		return "", err
	}
	t.Noting()
	shown, err := t.State.Sessions.Shown(ctx, t.Session)
	if err != nil {
		return "", err
	}
	core := ""
	err = t.Copy.Read(ctx, func(v answer.View) error {
		core, _ = v.Text(string(nipae.Core))
		return nil
	})
	if slices.Contains(shown, memorystate.Shown{Slug: string(nipae.Core), Hash: hashOf(core)}) {
		core = ""
	}
	return hook.Again(hook.MeasureOf(hook.Harness(t.Harness)), core), err
}

// Tell answers the prompt, and notes what it told; "" is nothing new.
func (t *Telling) Tell(ctx context.Context) (text string, err error) {
	if t.seen, err = t.State.Sessions.Shown(ctx, t.Session); err != nil {
		return "", err
	}
	text, t.already, err = t.intended(ctx)
	if err != nil {
		return "", err
	}
	t.left = hook.BlockBudget - len(text)
	block, err := t.recalled(ctx)
	if text != "" && (block == "" || err != nil) {
		return text, nil // it is noted as told
	}
	if text != "" {
		text += "\n"
	}
	return text + block, err
}

// ask asks the copy alone: no model has the time. as is how current it is.
func (t *Telling) ask(ctx context.Context, q Question) (out Recalled, as answer.State, err error) {
	r := Recall{Read: func(ctx context.Context, do func(answer.View) (int, error)) error {
		return t.Copy.Read(ctx, func(v answer.View) error {
			as, t.view = v.State(), v
			_, err := do(v)
			return err
		})
	}}
	q.Now = time.Now()
	out, err = r.Answer(ctx, q)
	return out, as, err
}

// intended is what is told of intentions, noted as shown, and which they are.
func (t *Telling) intended(ctx context.Context) (text string, slugs []string, err error) {
	found, as, err := t.ask(ctx, Question{Intentions: true, Intend: &intentions.Ask{Place: t.Place, Text: t.Prompt, Seen: seenBy(t.seen)}})
	if err != nil {
		return "", nil, err
	}
	lines, shown, _ := intentions.Lines(found.Coming, hook.IntendedBudget)
	if len(shown) == 0 || ctx.Err() != nil {
		return "", nil, nil
	}
	t.Noting()
	line := map[memorystate.Shown]string{}
	var ask []memorystate.Shown
	for n, i := range shown {
		s := memorystate.Shown{Slug: i.Slug, Hash: i.Key}
		ask, line[s] = append(ask, s), lines[n]
	}
	fresh, err := t.State.Sessions.Show(ctx, t.Session, t.Harness, ask, false)
	if err != nil || len(fresh) == 0 {
		return "", nil, err
	}
	var out strings.Builder
	for _, s := range fresh {
		out.WriteString(line[s])
		slugs = append(slugs, s.Slug)
	}
	return hook.Intended(out.String(), as.AsOf, as.Stale || as.Unfinished), slugs, nil
}

// recalled makes the block of what is new to the session, and notes that it was
// shown.
func (t *Telling) recalled(ctx context.Context) (string, error) {
	if t.Question == "" || t.left < answer.MinBudget {
		return "", nil
	}
	shown := map[string][]string{} // hashes by slug
	for _, s := range t.seen {
		shown[s.Slug] = append(shown[s.Slug], s.Hash)
	}
	var ours []memorystate.Shown
	for range 3 { // another hook of the session may show the same meanwhile
		found, units, as, err := t.block(ctx, shown)
		if err != nil || found.Block == "" || ctx.Err() != nil {
			return "", cmp.Or(err, ctx.Err())
		}
		t.Noting()
		// What waits for another process ends in time, and notes nothing.
		fresh, err := t.State.Sessions.Show(ctx, t.Session, t.Harness, units, true)
		if err != nil {
			return "", err
		}
		old := slices.DeleteFunc(slices.Clone(units), func(u memorystate.Shown) bool { return slices.Contains(fresh, u) || slices.Contains(ours, u) })
		if len(old) == 0 {
			return hook.Recalled(found.Block, as.AsOf, as.Stale || as.Unfinished), nil
		}
		for _, u := range old {
			shown[u.Slug] = append(shown[u.Slug], u.Hash)
		}
		ours = append(ours, fresh...) // noted by us, and not told yet
	}
	return "", nil
}

// block is what is remembered and was not shown, and what of it is told.
func (t *Telling) block(ctx context.Context, shown map[string][]string) (found Recalled, units []memorystate.Shown, as answer.State, err error) {
	q := Question{Unasked: true, Query: answer.Query{Text: t.Question, Budget: t.left, MinTrust: frontmatter.Derived.String(), Holds: true, Scope: t.Scope}}
	q.Shown = func(slug string, section int) bool {
		text, ok := t.view.Text(slug)
		return slices.Contains(t.already, slug) || ok && (slices.Contains(shown[slug], hashOf(text)) || slices.Contains(shown[slug], partOf(text, section)))
	}
	q.Also = func(v answer.View, found *Recalled) {
		units = nil
		for _, hit := range found.Hits { // of which a title stands there was not told
			switch text, _ := v.Text(hit.Slug); {
			case hit.Whole:
				units = append(units, memorystate.Shown{Slug: hit.Slug, Hash: hashOf(text)})
			case hit.Part >= 0:
				units = append(units, memorystate.Shown{Slug: hit.Slug, Hash: partOf(text, hit.Part)})
			}
		}
	}
	found, as, err = t.ask(ctx, q)
	var mistake *answer.Mistake
	if errors.As(err, &mistake) { // there is no word in it
		return Recalled{}, nil, as, nil
	}
	return found, units, as, err
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
