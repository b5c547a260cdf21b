package mcp

import (
	"context"
	"fmt"
	"testing"

	"engramd/internal/agent/mcp/aside"
	"engramd/internal/agent/why"
)

func neverTold(context.Context, string, *int64) (why.Answer, error) {
	return why.Answer{}, &why.UnknownError{What: "no session was told anything"}
}

// TestWhy: a session and a prompt are asked for in any spelling, of a long session the last
// turns are answered, and what is not known says nothing of memories.
func TestWhy(t *testing.T) {
	var asked string
	long := why.Answer{Session: "s", Harness: "claude"}
	for prompt := range int64(3 * maxTold) {
		long.Turns = append(long.Turns, why.Turn{Prompt: prompt, Told: []why.Text{{Slug: "mem/boats", Version: "0123", Reason: "boats"}}, Withheld: []why.Text{{Slug: "mem/eve", Reason: "external"}}})
	}
	p := unitServer(t, newFake(), func(o *options) {
		o.Why = func(_ context.Context, session string, prompt *int64) (why.Answer, error) {
			asked = session
			if prompt != nil {
				asked += fmt.Sprint(" ", *prompt)
			}
			return long, nil
		}
	})
	for _, c := range []struct {
		in   args
		want string
	}{{args{}, ""}, {args{"prompt": 0}, " 0"}, {args{"id": "s", "prompt": "3"}, "s 3"}, {args{"session": "s", "prompt": nil, "slug": ""}, "s"}} {
		c.in["action"] = "why"
		out := ask[whyOut](p, aside.More, c.in)
		if last := out.Turns[len(out.Turns)-1]; asked != c.want || len(out.Turns) != maxTold/3 || out.Earlier != 3*maxTold-maxTold/3 || last.Prompt != 3*maxTold-1 || last.Withheld[0].Reason != "external" {
			t.Errorf("%v asks for %q, and answers %d turns, %d before, the last %+v", c.in, asked, len(out.Turns), out.Earlier, last)
		}
	}
	if f, _ := p.refused(aside.More, args{"action": "why", "prompt": "the last"}); f.Code != CodeInvalid {
		t.Errorf("%+v", f)
	}
	p = unitServer(t, newFake(), func(o *options) { o.Why = neverTold })
	if f, _ := p.refused(aside.More, args{"action": "why"}); f.Code != CodeNotFound || f.Message != "This machine does not know it: no session was told anything." {
		t.Errorf("%+v", f)
	}
}
