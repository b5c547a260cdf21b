package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
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
	// Matrix compares meaning beside words.
	Matrix bool

	left    int      // bytes that a block may have
	already []string // memories that are told beside it
	seen    []memorystate.Shown
	view    answer.View // while the copy is read
	turn    memorystate.Turn
	took    time.Duration // by the recall
}

// OnDisk reads a copy that this process does not bring up to date. It is confirmed
// if the configured relays have confirmed it lately, for any process. What waits in the
// state is laid over it, and what the owner says.
func (s *Session) OnDisk(ctx context.Context, kept *localcopy.Copy, state *memorystate.State) answer.Source {
	of := func(context.Context) *memorystate.State { return state }
	below := s.Outbox.over(answer.Local(kept, func() ([]string, bool) { return s.Client.Relays(), true }), of)
	if s.Copies.heard == nil {
		s.Copies.heard = s.Copies.said(ctx, false)
	}
	return heard(s, below, kept, s.Copies.heard, of)
}

// Again tells a session once, if it began while no relay answered, that the memory is
// available: the copy was confirmed since. "" is nothing to tell.
func (t *Telling) Again(ctx context.Context, kept *localcopy.Copy, relays []string) (text string, err error) {
	fresh, err := kept.Freshness(ctx, relays)
	if err != nil {
		return "", err
	}
	if t.turn.Heard, err = t.State.Sessions.Heard(ctx, t.Session, fresh.Latest); !t.turn.Heard {
		return "", err
	}
	shown, err := t.State.Sessions.Shown(ctx, t.Session)
	if err != nil {
		return "", err
	}
	core, told := "", memorystate.Told{}
	err = t.Copy.Read(ctx, func(v answer.View) error {
		core, _ = v.Text(string(nipae.Core))
		told = toldOf(v, string(nipae.Core), "core")
		return nil
	})
	one := memorystate.Shown{Slug: string(nipae.Core), Hash: hashOf(core)}
	if slices.Contains(shown, one) {
		core = ""
	}
	if core != "" {
		t.tells([]memorystate.Told{told}, []memorystate.Shown{one})
	}
	return hook.Again(hook.MeasureOf(hook.Harness(t.Harness)), core), err
}

// Tell answers the prompt; "" is nothing new. Note notes what it told.
func (t *Telling) Tell(ctx context.Context) (text string, err error) {
	if t.seen, err = t.State.Sessions.Shown(ctx, t.Session); err != nil {
		return "", err
	}
	words, err := t.corrected(ctx)
	if err == nil {
		text, err = t.intended(ctx)
	}
	if err != nil {
		return "", err
	}
	t.left = hook.BlockBudget - len(text)
	if words != "" && text != "" {
		words += "\n"
	}
	text = words + text
	block, err := t.recalled(ctx)
	if text != "" && (block == "" || err != nil) {
		return text, nil
	}
	if text != "" {
		text += "\n"
	}
	return text + block, err
}

// withheldMost is how long a recall took at most where a second one says what was
// withheld: the harness waits for that.
const withheldMost = 200 * time.Millisecond

// Note counts the prompt of a session, and notes what it was told, and what was withheld
// from it. told says that the answer reached the agent.
func (t *Telling) Note(ctx context.Context, of memorystate.Session, told bool) error {
	if !told {
		return t.State.Turns.Prompt(ctx, memorystate.Turn{Session: of, Note: memorystate.Failed})
	}
	t.turn.Session = of
	if t.Question != "" && t.took < withheldMost {
		_ = t.Copy.Read(ctx, func(v answer.View) error { // what is not known is not noted
			left, err := answer.Withheld(v, t.query(), time.Now())
			for _, l := range left {
				t.turn.Texts = append(t.turn.Texts, toldOf(v, l.Slug, l.Reason))
				t.turn.Texts[len(t.turn.Texts)-1].Withheld = true
			}
			return err
		})
	}
	return t.State.Turns.Prompt(ctx, t.turn)
}

// tells notes texts that are told, of which some stand in the session's context whole.
func (t *Telling) tells(texts []memorystate.Told, shown []memorystate.Shown) {
	t.turn.Texts, t.turn.Shown = append(t.turn.Texts, texts...), append(t.turn.Shown, shown...)
}

// toldOf names a text as the state does.
func toldOf(v answer.View, slug, reason string) memorystate.Told {
	head, _ := v.Head(slug)
	return memorystate.Told{Slug: slug, Event: head.ID, Reason: reason}
}

// ask asks the copy alone: no server has the time. as is how current it is.
func (t *Telling) ask(ctx context.Context, q Question) (out Recalled, as answer.State, err error) {
	r := Recall{Matrix: t.Matrix, Read: func(ctx context.Context, do func(answer.View) (int, error)) error {
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

// intended is what is told of intentions.
func (t *Telling) intended(ctx context.Context) (string, error) {
	var lines []string
	var texts []memorystate.Told
	var shown []memorystate.Shown
	_, as, err := t.ask(ctx, Question{Intentions: true, Intend: &intentions.Ask{Place: t.Place, Text: t.Prompt, Seen: seenBy(t.seen)}, Also: func(v answer.View, found *Recalled) {
		var items []intentions.Item
		lines, items, _ = intentions.Lines(found.Coming, hook.IntendedBudget)
		texts, shown, t.already = nil, nil, nil
		for _, i := range items {
			texts, shown = append(texts, toldOf(v, i.Slug, "intention")), append(append(shown, memorystate.Shown{Slug: i.Slug, Hash: i.Key}), saidOf(i.Slug, i.Says)...)
			t.already = append(t.already, i.Slug)
		}
	}})
	if err != nil || ctx.Err() != nil {
		t.already = nil
		return "", err
	}
	t.tells(texts, shown)
	return hook.Intended(strings.Join(lines, ""), as.AsOf, as.Stale || as.Unfinished), nil
}

// query is what is asked for a prompt.
func (t *Telling) query() answer.Query {
	return answer.Query{Text: t.Question, Budget: t.left, MinTrust: frontmatter.Derived.String(), Holds: true, Scope: t.Scope}
}

// recalled is the block of what is remembered and is new to the session.
func (t *Telling) recalled(ctx context.Context) (string, error) {
	if t.Question == "" || t.left < answer.MinBudget {
		return "", nil
	}
	known := map[string][]string{} // hashes by slug
	for _, s := range t.seen {
		known[s.Slug] = append(known[s.Slug], s.Hash)
	}
	q := Question{Unasked: true, Query: t.query()}
	q.Shown = func(slug string, section int) bool {
		text, ok := t.view.Text(slug)
		return slices.Contains(t.already, slug) || ok && (slices.Contains(known[slug], hashOf(text)) || slices.Contains(known[slug], partOf(text, section)))
	}
	var texts []memorystate.Told
	var shown []memorystate.Shown
	q.Also = func(v answer.View, found *Recalled) {
		texts, shown, t.turn.Recalled = nil, nil, nil
		for _, hit := range found.Hits {
			text, _ := v.Text(hit.Slug)
			one := toldOf(v, hit.Slug, reason(hit))
			switch {
			case hit.Whole:
				shown = append(shown, memorystate.Shown{Slug: hit.Slug, Hash: hashOf(text)})
			case hit.Part >= 0:
				shown = append(shown, memorystate.Shown{Slug: hit.Slug, Hash: partOf(text, hit.Part)})
			default: // of which a title stands there was not told
				one.Reason = "title; " + one.Reason
			}
			if hit.Whole || hit.Part >= 0 {
				shown = append(shown, saidOf(hit.Slug, answer.WordsOf(v)[hit.Slug])...)
			}
			texts, t.turn.Recalled = append(texts, one), append(t.turn.Recalled, hit.Slug)
		}
	}
	began := time.Now()
	found, as, err := t.ask(ctx, q)
	t.took = time.Since(began)
	var mistake *answer.Mistake
	if errors.As(err, &mistake) { // there is no word in it
		return "", nil
	}
	block := hook.Recalled(found.Block, as.AsOf, as.Stale || as.Unfinished)
	if err != nil || block == "" || ctx.Err() != nil {
		return "", cmp.Or(err, ctx.Err())
	}
	t.tells(texts, shown)
	return block, nil
}

// reason says why a text was told: by which words that the prompt has too, and how it
// stands.
func reason(hit answer.Hit) string {
	all := hit.Notes()
	if len(hit.Words) > 0 {
		all = append(all, "words: "+strings.Join(hit.Words, ", "))
	}
	return strings.Join(append(all, slices.DeleteFunc(slices.Clone(hit.Why), func(why string) bool { return why == "words" })...), "; ")
}

// shownOf names texts as the state does.
func shownOf(units []hook.Unit) []memorystate.Shown {
	var all []memorystate.Shown
	for _, u := range units {
		all = append(append(all, memorystate.Shown{Slug: u.Slug, Hash: hashOf(u.Text)}), saidOf(u.Slug, u.Says)...)
	}
	return all
}

// saidOf names what the owner says of a memory as the state does; nothing for no word.
func saidOf(slug string, w answer.Word) []memorystate.Shown {
	if w.ID == "" {
		return nil
	}
	return []memorystate.Shown{{Slug: slug, Hash: "owner " + w.ID}}
}

// corrected is what the owner says of memories that the session was shown, and was not
// told of.
func (t *Telling) corrected(ctx context.Context) (string, error) {
	lines := ""
	var texts []memorystate.Told
	var shown []memorystate.Shown
	err := t.Copy.Read(ctx, func(v answer.View) error {
		lines, texts, shown = "", nil, nil
		words := answer.WordsOf(v)
		for _, slug := range slices.Sorted(maps.Keys(words)) {
			said, line := saidOf(slug, words[slug]), hook.WordLine(slug, words[slug])
			if slices.ContainsFunc(t.seen, func(s memorystate.Shown) bool { return s.Slug == slug }) && !slices.Contains(t.seen, said[0]) && len(lines)+len(line) <= hook.WordsBudget {
				lines += line
				texts, shown = append(texts, toldOf(v, slug, fmt.Sprintf("owner, proposal %.8s", words[slug].ID))), append(shown, said...)
			}
		}
		return nil
	})
	t.tells(texts, shown)
	return hook.Words(lines).Text, err
}

// partOf names a section of a text as hashOf names the whole.
func partOf(text string, section int) string { return fmt.Sprintf("%s %d", hashOf(text), section) }

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
