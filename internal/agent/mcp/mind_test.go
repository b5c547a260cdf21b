package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"engramd/internal/agent/view"
	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
)

// fakePlans has one plan, and answers as it is told to.
type fakePlans struct {
	plan    consolidation.Plan
	result  plans.Result
	undone  plans.Undone
	err     error
	options plans.PrepareOptions
	id      string
	ops     []consolidation.Op
	force   bool
	commit  func(ctx context.Context) error
}

func (f *fakePlans) Prepare(_ context.Context, _ consolidation.Kind, o plans.PrepareOptions) (consolidation.Plan, string, error) {
	f.options = o
	return f.plan, "# the plan", f.err
}

func (f *fakePlans) Commit(ctx context.Context, id string, ops []consolidation.Op) (plans.Result, error) {
	f.id, f.ops = id, ops
	if f.commit != nil {
		return f.result, f.commit(ctx)
	}
	return f.result, f.err
}

func (f *fakePlans) Undo(_ context.Context, id string, force bool) (plans.Undone, error) {
	f.id, f.force = id, force
	return f.undone, f.err
}

const anyPlan = "p-0123456789abcdef"

// thinking connects to a server with these plans.
func thinking(t *testing.T, f *fakePlans) peer {
	return connect(t, newServer(options{Memory: newFake(), Mind: &Mind{Plans: func(string) Plans { return f }}}))
}

func TestMindPrepare(t *testing.T) {
	f := &fakePlans{plan: consolidation.Plan{ID: anyPlan, Units: make([]consolidation.Shown, 3), Waiting: 9, Stale: true}}
	p := thinking(t, f)
	want := preparedOut{Plan: anyPlan, Text: "# the plan", Units: 3, Waiting: 9, fresh: fresh{Stale: true}}
	if out := ask[preparedOut](p, "mind_prepare", nil); out != want || f.options.MaxBytes != consolidation.DefaultBytes {
		t.Errorf("prepare: %+v, %+v", out, f.options)
	}
	if ask[preparedOut](p, "mind_prepare", args{"max_bytes": consolidation.MinBytes, "session": nil}); f.options.MaxBytes != consolidation.MinBytes {
		t.Errorf("prepare: %+v", f.options)
	}
	for _, n := range []int{-1, 5, consolidation.MinBytes - 1, consolidation.MaxBytes + 1} {
		if got, _ := p.refused("mind_prepare", args{"max_bytes": n}); got.Code != CodeInvalid {
			t.Errorf("max_bytes %d: %+v", n, got)
		}
	}
	if out := ask[preparedOut](p, "mind_dream", nil); out != want {
		t.Errorf("dream: %+v", out)
	}
	f.plan.Units, f.plan.Waiting = nil, 0
	if out := ask[preparedOut](p, "mind_prepare", nil); out.Plan != "" || !strings.Contains(out.Text, "Nothing waits") {
		t.Errorf("nothing waits: %+v", out)
	}
	f.err = fmt.Errorf("draw: %w", consolidation.ErrDreamless)
	if out := ask[preparedOut](p, "mind_dream", nil); out.Plan != "" || !strings.Contains(out.Text, "too little") {
		t.Errorf("dreamless: %+v", out)
	}
}

// A model may name the arguments in several ways, and give operations in any
// form that is clear.
func TestMindCommitReads(t *testing.T) {
	f := &fakePlans{}
	p := thinking(t, f)
	const op = `{"op":"keep","slug":"mem/day/1"}`
	want := []consolidation.Op{{Op: "keep", Slug: "mem/day/1"}}
	for _, given := range []string{
		`{"plan":"p-1","operations":[` + op + `]}`,
		`{"plan_id":"p-1","ops":[` + op + `]}`,
		`{"id":"p-1","operations":{"operations":[` + op + `]}}`,
		`{"plan":"p-1","operations":` + op + `}`,
		`{"plan":"p-1","operations":` + inText(`[`+op+`]`) + `}`,
		`{"plan":"p-1","operations":` + inText(" {\"operations\": ["+op+"]}\n") + `}`,
		`{"plan":" p-1 ","operations":` + inText(op) + `}`,
	} {
		f.ops, f.id = nil, ""
		if ask[commitOut](p, "mind_commit", raw(t, given)); f.id != "p-1" || !reflect.DeepEqual(f.ops, want) {
			t.Errorf("%s is %q %+v", given, f.id, f.ops)
		}
	}
	for _, given := range []string{`{"plan":"p-1","operations":[]}`, `{"plan":"p-1","operations":"[]"}`} {
		if ask[commitOut](p, "mind_commit", raw(t, given)); len(f.ops) != 0 {
			t.Errorf("%s is %+v", given, f.ops)
		}
	}
	f.id = ""
	for _, given := range []string{
		`{"plan":"p-1"}`, `{"operations":[]}`, `{"plan":"p-1","operations":null}`, `{"plan":"p-1","operations":7}`, `{"plan":"p-1","operations":"nothing"}`,
		`{"plan":"p-1","operations":[{"op":"keep","delete":true}]}`, `{"plan":"p-1","operations":[` + op + `],"ops":[]}`,
		`{"plan":"p-1","operations":"[{\"op\":\"keep\",\"op\":\"archive\"}]"}`, `{"plan":"p-1","operations":[` + strings.Repeat(op+",", consolidation.MaxOps) + op + `]}`,
		`{"plan":"p-1","operations":` + inText("["+strings.Repeat(" ", 1<<20)+"]") + `}`, `{"plan":"p-1","operations":[],"force":true}`,
	} {
		if got, words := p.refused("mind_commit", raw(t, given)); got.Code != CodeInvalid || f.id != "" {
			t.Errorf("%.80s: %+v %s", given, got, words)
		}
	}
}

func inText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func raw(t *testing.T, text string) args {
	t.Helper()
	return decode[args](t, json.RawMessage(text))
}

func TestMindCommitAnswers(t *testing.T) {
	f := &fakePlans{result: plans.Result{ID: anyPlan, Status: plans.Done, Behind: []string{"wss://slow.example"}, Left: []plans.Left{{Slug: "mem/c", Why: "changed\nmeanwhile"}},
		Changes: []consolidation.Change{{Slug: "mem/a", New: "A", Op: 1, Note: "it contradicts mem/b"}, {Slug: "mem/c", Base: "x", Old: "C", New: "D"}}}}
	var told []string
	p := connect(t, newServer(options{Memory: newFake(), Mind: &Mind{Plans: func(string) Plans { return f }}, Wrote: func(_ context.Context, slugs []string) { told = append(told, slugs...) }}))
	out := ask[commitOut](p, "mind_commit", args{"plan": anyPlan, "operations": []any{}})
	if len(out.Written) != 1 || out.Written[0] != (view.Change{Slug: "mem/a", What: consolidation.Created, Operation: 2, Note: "it contradicts mem/b"}) || len(out.Left) != 1 || out.Left[0].Why != "changed meanwhile" ||
		len(out.Warnings) != 1 || out.Plan != anyPlan || out.Status != "done" || fmt.Sprint(told) != "[mem/a]" {
		t.Errorf("%+v, told %v", out, told)
	}
	f.undone = plans.Undone{ID: anyPlan, Back: []string{"mem/a"}, Left: []plans.Left{{Slug: "mem/c", Why: "changed since"}}}
	back := ask[undoOut](p, "mind_undo", args{"plan_id": anyPlan, "force": true})
	if fmt.Sprint(back.Back) != "[mem/a]" || len(back.Left) != 1 || !f.force || f.id != anyPlan || len(told) != 2 {
		t.Errorf("%+v", back)
	}
}

func TestMindFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	for name, tt := range map[string]struct {
		err        error
		code, says string
	}{
		"an operation is wrong":  {&consolidation.OpError{Index: 2, Op: "supersede", Reason: "mem/x is told"}, CodeInvalid, "operation 3 (supersede): mem/x is told"},
		"changed meanwhile":      {fmt.Errorf("mem/x: %w", consolidation.ErrChanged), CodeConflict, "action prepare again"},
		"expired":                {plans.ErrNoPlan, CodeNotFound, "action prepare again"},
		"not recorded":           {plans.ErrNoRecord, CodeNotFound, "mind_commit answered"},
		"no id":                  {plans.ErrID, CodeInvalid, "16 hex digits"},
		"busy":                   {plans.ErrBusy, CodeBusy, "in a moment"},
		"too large":              {plans.ErrTooLarge, CodeTooLarge, "another plan"},
		"status":                 {fmt.Errorf("%w: undone", plans.ErrStatus), CodeConflict, "undone"},
		"damaged":                {plans.ErrRecord, CodeUnreadable, "Tell the user"},
		"began":                  {&plans.OpenError{ID: anyPlan, Err: client.ErrNoRelay}, CodeUnconfirmed, "goes on where it stopped"},
		"changed since":          {&plans.ChangedError{ID: anyPlan, Changed: []plans.Left{{Slug: "mem/x"}}, Rest: 4}, CodeConflict, "force true the other 4"},
		"relays are unreachable": {client.ErrNoRelay, CodeUnreachable, "Nothing was written"},
		"owner":                  {client.ErrReadOnly, CodeReadOnly, "only the agent"},
		"else":                   {errors.New("disk full"), CodeInternal, "disk full"},
	} {
		p := thinking(t, &fakePlans{err: tt.err})
		for _, tool := range []string{"mind_commit", "mind_undo"} {
			a := args{"plan": anyPlan}
			if tool == "mind_commit" {
				a["operations"] = []any{}
			}
			f, words := p.refused(tool, a)
			if f.Code != tt.code || !strings.Contains(words, tt.says) {
				t.Errorf("%s: %s: %+v\n%s", name, tool, f, words)
			}
			if name == "an operation is wrong" && f.Operation != 3 || name == "began" && f.Plan != anyPlan {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// A commit that has begun is finished even if the caller does not wait for it.
func TestMindCommitIsFinished(t *testing.T) {
	began, go_on, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	f := &fakePlans{commit: func(ctx context.Context) error {
		close(began)
		<-go_on
		ended <- ctx.Err()
		return nil
	}}
	p := thinking(t, f)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.CallTool(ctx, callOf("mind_commit", args{"plan": anyPlan, "operations": []any{}}))
		done <- err
	}()
	<-began
	cancel()
	if err := <-done; err == nil {
		t.Error("the call was not given up")
	}
	close(go_on)
	if err := <-ended; err != nil {
		t.Errorf("the commit was given up: %v", err)
	}
}
