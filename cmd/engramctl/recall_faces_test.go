package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"engramd/internal/cli/root"
	"engramd/internal/e2e/relaytest"
	memorystate "engramd/internal/memory/state"
)

// TestRecallIsOne: the command, the MCP tool and the prompt hook return the same
// memories for a question, in the same order. The command and the tool return
// external memories, the hook does not. None returns a memory of another project. All
// three add a due intention, apart from the hits. (The hook also drops memories that
// fit much worse than the best; the planted set has none.)
func TestRecallIsOne(t *testing.T) {
	url := relaytest.Start(t, relaytest.Options{}).URL
	r := newHookRig(t, url)
	r.plant(url, map[string]string{
		"core":                                    "I am Sami. I answer briefly.",
		"mem/harbour/crane":                       "The harbour crane is greased each Monday, before the first ship.",
		"mem/harbour/grease":                      "Grease for the harbour crane is in the red drum. The crane is greased warm.",
		"mem/harbour/motor":                       "---\ndescription: The motor of the crane\n---\nWhile the harbour crane is greased, its motor is off.",
		"mem/kitchen":                             "The kettle leaks when it is full.",
		"mem/journal/crane":                       "---\nstate: archived\n---\nThe harbour crane was greased once a year.",
		"mem/journal/kettle":                      "---\ntype: episodic\n---\nThe kettle was mended, and leaks again.",
		"mem/atlas/decision":                      "Atlas keeps everything in one SQLite file, since a backup is a copy.",
		"mem/atlas/superseded":                    "---\nsuperseded_by: [mem/atlas/decision]\n---\nAtlas keeps everything in many files.",
		"mem/letters/crane":                       "---\ntrust: external\n---\nThe harbour crane is greased with butter.",
		"mem/projects/" + bargeProject + "/crane": "The harbour crane is greased by the crew of the barge.",
		"mem/intentions/oil":                      "---\ntype: prospective\ndue: 2026-01-01\n---\nBuy oil",
	})
	r.write("barge/.git/config", "[remote \"origin\"]\n\turl = https://x.org/bo/barge.git\n")
	for _, folder := range []string{r.folder, filepath.Join(r.dir, "barge")} {
		if got := r.run(nil, "project", "link", folder); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	t.Chdir(r.folder) // the server works there
	server := startMCPIn(t, relaytest.Agent(), r.env, "--owner", relaytest.Owner().Pub, "--relay", url)
	type answer struct {
		Fit, Block       string
		Hits, Intentions []struct{ Slug string }
		Others           int `json:"other_projects"`
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
	const external, due = "mem/letters/crane", "mem/intentions/oil"
	told := regexp.MustCompile(`\bmem/[a-z0-9/-]+`)
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
		for face, a := range map[string]answer{"the command": byCommand, "the tool": byTool} {
			// The tool tells an intention once in a session.
			if once := face == "the tool" && n > 0; len(a.Intentions) != 1 != once || !once && a.Intentions[0].Slug != due {
				t.Errorf("%q: %s tells of the intentions %+v", question, face, a.Intentions)
			}
		}
		if n == 0 && (!slices.Contains(want, external) || byCommand.Others != 1 || byTool.Others != 1) {
			t.Errorf("%q finds %+v by the command, %+v by the tool", question, byCommand, byTool)
		}
		prompt, err := json.Marshal(map[string]string{"session_id": fmt.Sprint("s", n), "cwd": r.folder, "prompt": question})
		if err != nil {
			t.Fatal(err)
		}
		block := r.hook("generic", "prompt", string(prompt))
		want = slices.DeleteFunc(append([]string{due}, want...), func(slug string) bool { return slug == external })
		if shown := heads(told.FindAllString(block, -1)); !slices.Equal(shown, want) {
			t.Errorf("%q\nby the command %v\nby the hook    %v\n%s", question, want, shown, block)
		}
	}
	_ = server.session.Close()
	server.ended()
}

// heads are the slugs that a block names, each once and in its order.
func heads(all []string) (slugs []string) {
	for _, slug := range all {
		if !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	return slugs
}

// TestRecallCountsWhatIsTold: what cannot be printed is not counted.
func TestRecallCountsWhatIsTold(t *testing.T) {
	url := relaytest.Start(t, relaytest.Options{}).URL
	r := newHookRig(t, url)
	r.plant(url, map[string]string{"core": "I am Sami.", "mem/kitchen": "The kettle leaks when it is full."})
	counted := func() (all []memorystate.Counter) {
		r.state(func(s *memorystate.State) {
			var err error
			if all, _, err = s.Counters.All(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		return all
	}
	out, in := io.Pipe()
	_ = out.Close() // nobody reads it
	m := &root.Main{Args: []string{"recall", "Does the kettle leak?"}, Env: r.env, Dir: r.folder, Stdout: in, Stderr: io.Discard, Slack: r.slack}
	if code := m.Run(t.Context()); code == 0 {
		t.Error("it is printed")
	}
	if all := counted(); len(all) != 0 {
		t.Errorf("what was not printed is counted: %+v", all)
	}
	if got := r.run(nil, "recall", "Does the kettle leak?"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if all := counted(); len(all) != 1 || all[0].Slug != "mem/kitchen" || all[0].Recalled != 1 {
		t.Errorf("%+v", all)
	}
}
