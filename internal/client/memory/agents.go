package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// AgentMemory is one agent of an owner, and how much it remembers for that
// owner.
type AgentMemory struct {
	Agent      string // public key in hex
	Approved   bool   // it is on the owner's list
	Core       bool
	Memories   int   // as Reader.ListAll has them, without proposals, answers to them and units of a log
	Bytes      int64 // of all texts
	Unreadable int   // addresses at which nothing can be read
	Last       int64 // when it last wrote, or removed, something, in Unix seconds; 0: never
}

// AgentList is an owner's agents, as far as they are looked at.
type AgentList struct {
	Agents []AgentMemory
	// Looked is how many engrams of keys that are not approved were looked at. Beyond:
	// there may be more.
	Looked int
	Beyond bool
}

// Agents returns the agents of a client's identity as an owner: those that it
// has approved, and behind them those that remember something for it, who wrote
// last first. Anybody can address memory to anybody: what is not approved is a
// claim, and is looked for among the newest maxOthers engrams only, so that
// strangers cannot make the list long, slow or fail. What approved agents have is
// asked for by their keys where there is more. Proposals, answers to them and the
// units of a log are no memory; and the owner of the
// identity (Options.Owner) proposes things to it, and is none of its agents
// unless it has approved him. Only the configured relays are asked, since the lists of agents that
// are not known cannot be looked at.
//
// Errors are ErrNoRelay, and ErrPartial if nothing was found and some relay
// failed.
func Agents(ctx context.Context, c *client.Client) (AgentList, client.Status, error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	approving, done := client.Part(ctx, 0.4)
	approved, status, err := ApprovalsOf(c).List(approving)
	done()
	if err != nil && !errors.Is(err, client.ErrPartial) {
		return AgentList{}, status, err
	}
	listed := slices.DeleteFunc(status.Relays, func(r client.RelayStatus) bool { return !r.Failed() && r.Complete })
	a, list, err := addressed(ctx, c, approved)
	status = client.Status{Relays: client.WithDoubts(a.Relays, listed), Partial: status.Partial || a.Partial(), Doubtful: status.Doubtful + client.Rejected(a.Relays)}
	if err != nil {
		return AgentList{}, status, err
	}
	list.Agents, err = measured(ctx, c, approved, a.Events)
	if err == nil && len(list.Agents) == 0 && status.Partial {
		err = client.Failures(client.ErrPartial, status.Relays)
	}
	return list, status, err
}

// agentsAtOnce is how many approved agents one question names.
const agentsAtOnce = 200

// addressed returns the engrams that name the owner: those of approved agents, and
// of others as many as are among the newest.
func addressed(ctx context.Context, c *client.Client, approved []string) (a client.Answers, list AgentList, err error) {
	configured, mine := client.TargetsOf(c.Options().Relays), nostr.Filter{Kinds: []int{nipae.Kind}, Tags: nostr.TagMap{"p": {c.Identity().PubKey()}}}
	newest := mine
	newest.Limit = maxOthers + 1
	a, err = c.AskThoseSoon(ctx, configured, newest)
	if len(a.Events) == 0 && client.Hurried(a.Relays) {
		a, err = c.AskThose(ctx, configured, newest)
	}
	if err != nil || len(a.Events) <= maxOthers {
		return a, list, err
	}
	a.Events = slices.DeleteFunc(a.Events[:maxOthers], func(ev *nostr.Event) bool { return slices.Contains(approved, ev.PubKey) })
	list.Looked, list.Beyond = len(a.Events), true
	for mine.Authors = range slices.Chunk(approved, agentsAtOnce) {
		b, err := c.AskThoseSoon(ctx, configured, mine)
		short := slices.DeleteFunc(b.Relays, func(r client.RelayStatus) bool { return !r.Failed() && r.Complete })
		a.Events, a.Relays = append(a.Events, b.Events...), client.WithDoubts(a.Relays, short)
		if err != nil {
			return a, list, err
		}
	}
	return a, list, nil
}

// measured returns the agents that are approved, and those that events are of.
func measured(ctx context.Context, c *client.Client, approved []string, events []*nostr.Event) ([]AgentMemory, error) {
	byAgent := map[string][]*nostr.Event{}
	for _, agent := range approved {
		byAgent[agent] = nil
	}
	for _, ev := range events {
		byAgent[ev.PubKey] = append(byAgent[ev.PubKey], ev)
	}
	agents := make([]AgentMemory, 0, len(byAgent))
	for agent, events := range byAgent {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %d agents take longer to look at", client.ErrTimeout, len(byAgent))
		}
		a := AgentMemory{Agent: agent, Approved: slices.Contains(approved, agent)}
		remembers := false
		if len(events) > 0 {
			var err error
			if remembers, err = measure(c, &a, events); err != nil {
				return nil, err
			}
		}
		if a.Approved || remembers && !isOwner(c, agent) {
			agents = append(agents, a)
		}
	}
	slices.SortFunc(agents, func(x, y AgentMemory) int {
		switch {
		case x.Approved != y.Approved && x.Approved:
			return -1
		case x.Approved != y.Approved:
			return 1
		}
		return cmp.Or(cmp.Compare(y.Last, x.Last), cmp.Compare(x.Agent, y.Agent))
	})
	return agents, nil
}

// measure reports how much an agent remembers, and whether it is anything.
func measure(c *client.Client, a *AgentMemory, events []*nostr.Event) (bool, error) {
	key, err := conversation(c, a.Agent)
	if err != nil {
		return false, fmt.Errorf("agent %s: %w", a.Agent, err)
	}
	l, remembers := withoutBookkeeping(nipae.SelectHeads(key(), a.Agent, c.Identity().PubKey(), events))
	a.Core, a.Memories, a.Unreadable = l.Core != nil, len(l.Memories), len(l.Unreadable)
	for _, e := range l.Heads() {
		text, _ := e.Body.Text()
		a.Bytes += int64(len(text))
		a.Last = max(a.Last, e.CreatedAt())
	}
	for _, e := range l.Tombstones {
		a.Last = max(a.Last, e.CreatedAt())
	}
	return remembers, nil
}

// maxOthers is how many engrams are looked at to find out about other pairs.
const maxOthers = 500

// Others is what a key can know of memory that is not the pair's.
type Others struct {
	// Begun says that there is memory of the pair itself, if only tombstones; then
	// nothing else is known. Proposals, and answers to them, are no memory, here
	// and of other pairs.
	Begun bool
	// Logged says that units of its log are there, and nothing else of it.
	Logged bool
	// Keys are the other owners for whom the agent remembers something, when the
	// agent asks; the other agents that remember something for the owner, when the
	// owner asks. Who wrote last comes first.
	Keys []string
}

// Others reports whether the pair has any memory, and if not, with whom the
// client's key has. An empty memory that is met with the wrong owner, agent or
// key can so be told from one that has not begun. The errors are ErrNoRelay and
// ErrPartial: one relay that does not answer may know of more.
func (r *Reader) Others(ctx context.Context) (Others, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	a, begun, logged, err := r.begun(ctx)
	status := r.status(a.Relays, 0)
	if err != nil || begun {
		return Others{Begun: begun}, status, err
	}
	rest := nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{r.agent}, Limit: maxOthers}
	targets := r.c.Targets()
	if !r.Writable() {
		// Listed relays are not told who the owner is.
		rest.Authors, rest.Tags = nil, nostr.TagMap{"p": {r.owner}}
		targets = slices.DeleteFunc(targets, func(t client.Target) bool { return t.Listed })
	}
	b, err := r.c.AskThose(ctx, targets, rest)
	status = r.status(b.Relays, 0)
	if err != nil {
		return Others{}, status, err
	}
	keys := others(r, b.Events)
	if client.Partial(a.Relays) || client.Partial(b.Relays) {
		status.Partial = true
		return Others{Keys: keys, Logged: logged}, status, client.Failures(client.ErrPartial, slices.Concat(a.Relays, b.Relays))
	}
	return Others{Keys: keys, Logged: logged}, status, nil
}

// begun reports whether there is memory of the pair, or a log unit of it. One event
// tells, unless it is a proposal or an answer; of those, maxOthers without a memory are
// none.
func (r *reader) begun(ctx context.Context) (a client.Answers, begun, logged bool, err error) {
	own := r.all()
	for _, own.Limit = range []int{1, maxOthers} {
		a, err = r.c.AskThose(ctx, r.c.Targets(), own)
		if err != nil || len(a.Events) == 0 {
			return a, false, false, err
		}
		l := nipae.SelectHeads(r.key(), r.agent, r.owner, a.Events)
		if _, begun = withoutBookkeeping(l); begun {
			return a, true, false, nil
		}
		logged = slices.ContainsFunc(l.Memories, func(e nipae.Engram) bool { return writerlog.IsUnit(e.Slug()) })
	}
	return a, false, logged, nil
}

// others returns the other halves of the pairs that engrams belong to, without
// those of which there are proposals and answers only.
func others(r *Reader, events []*nostr.Event) []string {
	var keys []string
	of := map[string][]*nostr.Event{}
	for _, ev := range events {
		if nipae.CheckEnvelope(ev) != nil {
			continue
		}
		key := ev.PubKey
		if r.Writable() {
			key = ev.Tags.GetFirst([]string{"p"}).Value()
		}
		if key == r.owner || key == r.agent || !r.Writable() && isOwner(r.c, key) {
			continue
		}
		if of[key] == nil {
			keys = append(keys, key)
		}
		of[key] = append(of[key], ev)
	}
	return slices.DeleteFunc(keys, func(key string) bool {
		between, err := conversation(r.c, key)
		if err != nil {
			return false // it names no key, and is named
		}
		agent, owner := key, r.owner
		if r.Writable() {
			agent, owner = r.agent, key
		}
		_, remembers := withoutBookkeeping(nipae.SelectHeads(between(), agent, owner, of[key]))
		return !remembers
	})
}
