package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestRecallIsOne: the command, the MCP tool and the prompt hook find the same
// memories for a question, in the same order. (At a prompt, memories that fit much
// worse than the best are not told; here there are none.)
func TestRecallIsOne(t *testing.T) {
	url := relaytest.Start(t, relaytest.Options{}).URL
	r := newHookRig(t, url)
	r.plant(url, map[string]string{
		"core":                 "I am Sami. I answer briefly.",
		"mem/harbour/crane":    "The harbour crane is greased each Monday, before the first ship.",
		"mem/harbour/grease":   "Grease for the harbour crane is in the red drum. The crane is greased warm.",
		"mem/harbour/motor":    "---\ndescription: The motor of the crane\n---\nWhile the harbour crane is greased, its motor is off.",
		"mem/kitchen":          "The kettle leaks when it is full.",
		"mem/journal/crane":    "---\nstate: archived\n---\nThe harbour crane was greased once a year.",
		"mem/journal/kettle":   "---\ntype: episodic\n---\nThe kettle was mended, and leaks again.",
		"mem/atlas/decision":   "Atlas keeps everything in one SQLite file, since a backup is a copy.",
		"mem/atlas/superseded": "---\nsuperseded_by: [mem/atlas/decision]\n---\nAtlas keeps everything in many files.",
	})
	server := startMCPIn(t, relaytest.Agent(), r.env, "--owner", relaytest.Owner().Pub, "--relay", url)
	type answer struct {
		Fit, Block string
		Hits       []struct{ Slug string }
	}
	parse := func(text string) (a answer, slugs []string) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, h := range a.Hits {
			slugs = append(slugs, h.Slug)
		}
		return a, slugs
	}
	told := regexp.MustCompile(`\bmem/[a-z/]+`)
	for n, question := range []string{"How is the harbour crane greased?", "Does the kettle leak?", "Why does Atlas keep everything in one file?"} {
		got := r.run(nil, "recall", "--json", question)
		if got.code != 0 {
			t.Fatalf("%+v", got)
		}
		byCommand, want := parse(got.stdout)
		byTool, slugs := parse(server.call("memory_recall", map[string]any{"query": question}, false))
		if len(want) == 0 || n == 0 && len(want) < 3 || byCommand.Fit != "strong" {
			t.Fatalf("%q finds %+v", question, byCommand)
		}
		if !slices.Equal(slugs, want) || byTool.Fit != byCommand.Fit || byTool.Block != byCommand.Block {
			t.Errorf("%q\nby the command %v\n%s\nby the tool    %v\n%s", question, want, byCommand.Block, slugs, byTool.Block)
		}
		prompt, err := json.Marshal(map[string]string{"session_id": fmt.Sprint("s", n), "cwd": r.folder, "prompt": question})
		if err != nil {
			t.Fatal(err)
		}
		block := r.hook("generic", "prompt", string(prompt))
		if shown := heads(told.FindAllString(block, -1), want); !slices.Equal(shown, want) {
			t.Errorf("%q\nby the command %v\nby the hook    %v\n%s", question, want, shown, block)
		}
	}
	_ = server.session.Close()
	server.ended()
}

// heads are the slugs that a block names, each once and in its order: those that
// were found.
func heads(all, found []string) (slugs []string) {
	for _, slug := range all {
		if slices.Contains(found, slug) && !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	return slugs
}
