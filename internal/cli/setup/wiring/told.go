package wiring

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/agent/harness"
	"engramd/internal/agent/hook"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/try"
)

// bytesPerToken is how many bytes of such a text a model counts as one token, about.
const bytesPerToken = 4

// ShowStart runs the hook of a session's start as the first harness does, and prints what
// the agent will be told.
func (w *Wiring) ShowStart(ctx context.Context) error {
	for _, h := range w.chosen() {
		st, err := h.Check(harness.Disk{}, cliutil.Roots(w.Env), harness.Entry{Binary: "/engramctl"})
		if err != nil || st.Binary == "" {
			continue
		}
		out, err := try.Run(ctx, w.Env, try.Sample(w.Env), false, st.Binary, try.OfProfile(st.Profile, "hook", string(hook.SessionStart), "--harness", h.Name)...)
		text := told(out)
		if err == nil && strings.Contains(text, hook.IsUnavailable) {
			err = errors.New("it tells the agent that its memory is unavailable")
		}
		if err != nil {
			return fmt.Errorf("the memory is kept, and all is written, but the hook with which %s begins a session fails: %w. engramctl doctor says why", h.Title, err)
		}
		if err := w.Env.Print("This is what your agent is told at its next start, about %s:\n\n", cliutil.Counted((len(text)+bytesPerToken-1)/bytesPerToken, "token", "tokens")); err != nil {
			return err
		}
		return w.Env.PrintText(text + "\n")
	}
	return nil
}

// Left is what a person has still to do before an agent uses what was written.
func (w *Wiring) Left() (all []string) {
	for _, h := range w.chosen() {
		st, err := h.Check(harness.Disk{}, cliutil.Roots(w.Env), harness.Entry{Binary: "/engramctl"})
		if err == nil {
			all = append(all, st.Notes...)
		}
		if h.Name == "generic" {
			all = append(all, "put what is printed above into the settings of your program")
		}
	}
	if len(w.Names) == 0 {
		all = append(all, "engramctl setup HARNESS, for no program uses this memory yet")
	}
	return all
}

// told is the text within what a hook prints, whatever the harness.
func told(out string) string {
	var shape struct {
		Specific struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
		Context string `json:"additional_context"`
	}
	if json.Unmarshal([]byte(out), &shape) == nil {
		out = cmp.Or(shape.Specific.Context, shape.Context)
	}
	return strings.TrimSpace(out) + "\n"
}
