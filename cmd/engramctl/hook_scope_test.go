package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

const bargeProject = "x-org/bo/barge-150ed50e"

// twoProjects is a rig with two linked repositories whose memories are of the same
// matters.
func twoProjects(t *testing.T) (r *hookRig, at map[string]string) {
	url := relaytest.Start(t, relaytest.Options{}).URL
	r = newHookRig(t, url)
	r.write("barge/.git/config", "[remote \"origin\"]\n\turl = https://x.org/bo/barge.git\n")
	r.write("plain/x", "")
	r.plant(url, map[string]string{
		"mem/projects/" + testProject + "/launch":  "Launching: open the sluice first, then let the cradle slide. Watch the tide table afterwards.",
		"mem/projects/" + testProject + "/tides":   "Tide tables come from the harbour office each Monday.",
		"mem/projects/" + bargeProject + "/launch": "Launching: tow it to the crane and lift it in. There is no sluice; watch the crane afterwards.",
		"mem/projects/barge/keel":                  "The keel of the barge is of oak, bolted in nine places.",
		"mem/projects/raft/keel":                   "The keel of the raft is of pine, bolted nowhere.",
		"mem/journal/2026/11/20/0900-0a1b2c3d":     "---\ntype: episodic\nproject: " + bargeProject + "\n---\nAt the last launching a gauge had to be watched afterwards: the crane was repaired, with a new chain.",
		"mem/journal/2026/11/20/0910-0a1b2c3d":     "---\ntype: episodic\nproject: barge/acme/secret\n---\nThe vault opens with a brass key.", // of a host that is called barge
		"mem/people/ana":                           "Ana signs off each launching, watches the tide, and wants to be called afterwards.",
		// Beside others the words of a launching say something.
		"mem/people/kim": "Kim teaches chess to her cousins.", "mem/places/mill": "The mill grinds rye and wheat.",
		"mem/birds": "Storks nest on the chimney.", "mem/rules": "Letters are answered within a week.",
		"mem/tools/printer": "The printer takes A4 from the lower tray.", "mem/tools/radio": "Channel 12 is kept free.",
		"mem/tools/stove": "The stove burns beech, never pine.", "mem/places/bakery": "Bread is sold until noon.",
		"mem/projects/" + bargeProject + "/versions": "Versions of the barge are counted by year and month.",
	})
	at = map[string]string{"atlas": r.folder, "barge": filepath.Join(r.dir, "barge"), "plain": filepath.Join(r.dir, "plain")}
	for _, name := range []string{"atlas", "barge"} {
		if got := r.run(nil, "project", "link", at[name]); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	r.hook("generic", "session-start", fmt.Sprintf(`{"session_id":"first","cwd":%q}`, r.folder)) // fills the copy
	return r, at
}

// TestPromptIsToldItsProject: what is told at a prompt in a linked folder is of its
// project and of none, whether or not its own was shown at the session's start.
// Another one's comes where the prompt names the repository, headed as its.
func TestPromptIsToldItsProject(t *testing.T) {
	r, at := twoProjects(t)
	const ask, named = "How does the launching go here, and what do I watch afterwards?", "How does the launching go in bo/barge, and what do I watch afterwards?"
	const who = "Who signs off each launching, and wants to be called afterwards?"
	atlas, barge, note := "## mem/projects/"+testProject+"/launch (", "## mem/projects/"+bargeProject+"/launch (", "0900-0a1b2c3d"
	for i, tt := range []struct {
		name, in, prompt string
		started          bool
		told, not        []string
	}{
		{"atlas, a new session", "atlas", ask, false, []string{atlas, "## mem/people/ana", "(2 in other projects: all_projects)\n"}, []string{bargeProject, note}},
		{"atlas, after its start", "atlas", ask, true, []string{"## mem/people/ana"}, []string{bargeProject, note, atlas}},
		{"barge, a new session", "barge", ask, false, []string{barge, note, "(1 in other projects: all_projects)\n"}, []string{testProject}},
		{"barge, after its start", "barge", ask, true, []string{"## mem/people/ana"}, []string{testProject, barge}},
		{"the other one is named", "atlas", named, false, []string{barge[:len(barge)-1] + "(project x.org/bo/barge; "}, []string{"keel"}},
		{"a folder of no project", "plain", who, false, []string{"## mem/people/ana"}, []string{"mem/projects/", note}},
		{"there it helps nothing to name it", "plain", who + " I mean x.org/bo/barge.", false, []string{"## mem/people/ana"}, []string{"mem/projects/", note}},
		{"a name without a folder that is the repository's", "barge", "Of what wood is the keel of it, and in how many places is it bolted?", false, []string{"mem/projects/barge/keel"}, []string{"raft"}},
		{"not elsewhere", "atlas", "Of what wood is the keel of it, and in how many places is it bolted?", false, nil, []string{"mem/"}},
	} {
		id := fmt.Sprintf("s%d", i)
		if tt.started {
			got := r.hook("generic", "session-start", fmt.Sprintf(`{"session_id":%q,"cwd":%q}`, id, at[tt.in]))
			if !strings.Contains(got, "/launch\n") {
				t.Errorf("%s: its start does not show it\n%s", tt.name, got)
			}
		}
		got := r.hook("generic", "prompt", fmt.Sprintf(`{"session_id":%q,"cwd":%q,"prompt":%q}`, id, at[tt.in], tt.prompt))
		for _, want := range tt.told {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not told\n%s", tt.name, want, got)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q is told\n%s", tt.name, not, got)
			}
		}
	}
}

// A session begins with episodes of its project and of none.
func TestReplayIsOfTheProject(t *testing.T) {
	r, at := twoProjects(t)
	for name, want := range map[string]bool{"atlas": false, "barge": true, "plain": false} {
		got := r.hook("generic", "session-start", fmt.Sprintf(`{"session_id":"r-%s","cwd":%q}`, name, at[name]))
		if strings.Contains(got, "with a new chain") != want {
			t.Errorf("in %s:\n%s", name, got)
		}
		if strings.Contains(got, "brass key") {
			t.Errorf("in %s another host's is told:\n%s", name, got)
		}
	}
}
