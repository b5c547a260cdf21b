package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/management"
	"engramd/internal/relay/store"
)

// remover notes the audit lines, and removes three events or fails.
type remover struct {
	lines []store.AdminCall
	fails error
	asked []nostr.Filter
}

func (r *remover) Administer(_ context.Context, _ *store.AdminEntry, call store.AdminCall) error {
	r.lines = append(r.lines, call)
	return nil
}

func (r *remover) RemoveMatching(_ context.Context, _ gate.Scope, filters []nostr.Filter) (store.Removal, error) {
	r.asked = filters
	return store.Removal{Events: map[int]int64{1: 2}, Versions: map[int]int64{30023: 1}}, r.fails
}

// TestRemoveIsAudited: that it began, and how it ended, also when it failed.
func TestRemoveIsAudited(t *testing.T) {
	for name, fails := range map[string]error{"ok": nil, "error": errors.New("no room")} {
		t.Run(name, func(t *testing.T) {
			var f management.Filters
			if err := f.Set(`{"kinds":[1]}`); err != nil {
				t.Fatal(err)
			}
			r := &remover{fails: fails}
			done, err := management.Remove(t.Context(), r, gate.Scope{}, &f)
			if !errors.Is(err, fails) || management.Total(done) != 3 || len(r.asked) != 1 {
				t.Errorf("%v, %v", done, err)
			}
			var said []string
			for _, l := range r.lines {
				said = append(said, fmt.Sprint(l.Key == store.AdminOperator, " ", l.Method, " ", *l.Params, " ", l.Outcome, " ", l.Detail))
			}
			want := []string{`true delete [{"kinds":[1]}] begun `, `true delete [{"kinds":[1]}] ` + name + ` 3 removed`}
			if !slices.Equal(said, want) {
				t.Errorf("audit %q, want %q", said, want)
			}
		})
	}
}

// TestRemoveWantsFilters: what says nothing removes nothing and leaves no line.
func TestRemoveWantsFilters(t *testing.T) {
	for _, text := range []string{"", "{}"} {
		var f management.Filters
		if text != "" {
			if err := f.Set(text); err != nil {
				t.Fatal(err)
			}
		}
		r := &remover{}
		if _, err := management.Remove(t.Context(), r, gate.Scope{}, &f); err == nil || r.asked != nil || r.lines != nil {
			t.Errorf("%q: %v, %+v", text, err, r)
		}
	}
}

// TestFiltersPassAsTheyCame: an empty list matches nothing, and must not be
// lost on the way to the daemon.
func TestFiltersPassAsTheyCame(t *testing.T) {
	var f, back management.Filters
	for _, text := range []string{`{"kinds":[]}`, `{"authors":[],"since":1}`} {
		if err := f.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	sent, err := json.Marshal(&f)
	if err != nil || string(sent) != `[{"kinds":[]},{"authors":[],"since":1}]` {
		t.Fatalf("%s, %v", sent, err)
	}
	if err := json.Unmarshal(sent, &back); err != nil || len(back.List()) != 2 || back.List()[0].Kinds == nil || back.List()[1].Authors == nil {
		t.Errorf("%+v, %v", back.List(), err)
	}
	for _, text := range []string{`{"search":"x"}`, `{"limit":1}`, `{"kinds":"1"}`, `{"unknown":1}`, `[]`} {
		if err := f.Set(text); err == nil {
			t.Errorf("%s was taken", text)
		}
		if err := json.Unmarshal([]byte("["+text+"]"), &back); err == nil {
			t.Errorf("%s was taken from the socket", text)
		}
	}
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"kinds":[1]},`, 101), ",") + "]"
	if err := json.Unmarshal([]byte(many), &back); err == nil {
		t.Error("101 filters were taken")
	}
}
