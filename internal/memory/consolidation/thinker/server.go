package thinker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/model"
)

// Server is a Thinker at a model server: /v1/chat/completions of OpenAI's form, as
// llama.cpp, Ollama and vLLM have it.
type Server struct {
	*model.Server
	free atomic.Bool // it takes no response_format
}

var _ Thinker = (*Server)(nil)

// NewServer returns a Server. It asks nothing yet. Errors are
// model.ErrURL and model.ErrPlaintext.
func NewServer(o model.Options) (*Server, error) {
	if o.Timeout <= 0 {
		o.Timeout = DefaultLimit
	}
	o.MaxAnswer = MaxAnswer
	s, err := model.Open(o, "/chat/completions")
	if err != nil {
		return nil, err
	}
	return &Server{Server: s}, nil
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type request struct {
	Model    string            `json:"model"`
	Messages []message         `json:"messages"`
	Stream   bool              `json:"stream"`
	Format   map[string]string `json:"response_format,omitempty"`
}

type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		Finish string `json:"finish_reason"`
	} `json:"choices"`
}

// Think sends the plan as one message of the user: templates of some models have
// no other role. A server that refuses to be asked for JSON is asked without.
func (s *Server) Think(ctx context.Context, plan string) ([]consolidation.Op, error) {
	if len(plan) > MaxPlan {
		return nil, fmt.Errorf("%w: the plan has more than %d bytes", ErrFailed, MaxPlan)
	}
	in := request{Model: s.Model, Messages: []message{{Role: "user", Content: plan}}}
	if !s.free.Load() {
		in.Format = map[string]string{"type": "json_object"}
	}
	var out completion
	err := s.Post(ctx, in, &out)
	if in.Format != nil && errors.Is(err, model.ErrRefused) {
		in.Format, out = nil, completion{}
		if err = s.Post(ctx, in, &out); err == nil {
			s.free.Store(true)
		}
	}
	switch {
	case errors.Is(err, model.ErrAnswer):
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	case len(out.Choices) != 1:
		return nil, fmt.Errorf("%w: the model server gave %d choices, and one is meant", ErrAnswer, len(out.Choices))
	case out.Choices[0].Finish == "length":
		return nil, fmt.Errorf("%w: the model server cut it off: its context, or its limit of tokens, is too small", ErrAnswer)
	}
	return Answer([]byte(out.Choices[0].Message.Content))
}

// Round is one plan, thought over by somebody else than the agent: prepared,
// judged, and carried out or laid before the owner. It checks nothing: Apply does.
type Round struct {
	Prepare func(context.Context, consolidation.Kind) (p consolidation.Plan, text string, err error)
	Apply   func(ctx context.Context, plan string, ops []consolidation.Op) error
	Thinker Thinker
	Turn    *Turn
	PerDay  int // see Turn.Spend
	Now     func() time.Time
}

// Done is what became of a round.
type Done struct {
	Plan  consolidation.Plan
	Asked bool // the thinker; not, if nothing waits
	Ops   int  // that it wants; none is a right answer
}

// Run makes a plan of a kind happen. Whatever fails before Apply has changed
// nothing, and the plan stays what it is: Done names it. Errors are ErrBudget,
// those of the thinker, and those of Prepare and Apply.
func (r Round) Run(ctx context.Context, kind consolidation.Kind) (done Done, err error) {
	plan, text, err := r.Prepare(ctx, kind)
	if done.Plan = plan; err != nil || !waits(plan) {
		return done, err
	}
	if err := r.Turn.Spend(r.Now(), r.PerDay); err != nil {
		return done, err
	}
	done.Asked = true
	ops, err := r.Thinker.Think(ctx, text)
	if err != nil {
		return done, fmt.Errorf("plan %s is as it was: %w", plan.ID, err)
	}
	done.Ops = len(ops)
	return done, r.Apply(ctx, plan.ID, ops)
}

// waits reports whether there is something to think about: units that only stand
// beside are nothing.
func waits(p consolidation.Plan) bool {
	want := consolidation.Episode
	switch p.Kind {
	case consolidation.Dream:
		want = consolidation.Drawn
	case consolidation.Archive:
		want = consolidation.Stale
	}
	return slices.ContainsFunc(p.Units, func(u consolidation.Shown) bool { return u.Role == want })
}

// longestWait bounds what failures make of a wait.
const longestWait = 24 * time.Hour

// Repeat does something now and every so often, until the context ends. After a
// failure it waits twice as long as before, up to a day, and as long as a server
// asks for; never less than every.
func Repeat(ctx context.Context, every time.Duration, after func(time.Duration) <-chan time.Time, do func(context.Context) error) {
	wait := every
	for {
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		var later *model.Later
		switch {
		case err == nil:
			wait = every
		case errors.As(err, &later):
			wait = max(min(2*wait, longestWait), later.After, every)
		default:
			wait = max(min(2*wait, longestWait), every)
		}
		select {
		case <-after(wait):
		case <-ctx.Done():
			return
		}
	}
}
