package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/nips/frontmatter"
)

// TestOthersWordsStayExternalByEveryWay writes what stands in an external memory by each way
// in which a text gets into memory: it is external there too, or refused, unless the owner
// proposed it.
func TestOthersWordsStayExternalByEveryWay(t *testing.T) {
	p := newCorrecting(t)
	c := startMCPIn(t, relaytest.Agent(), p.env, "--owner", relaytest.Owner().Pub, "--relay", p.relay.URL, "--tools", "memory,mind,files")
	folder := filepath.Join(p.dir, "own")
	p.does("", "export", folder, "--yes")
	ways := guardedWays(t, p, c, folder)
	cli := func(name string, args ...string) guardedWay {
		return guardedWay{name, func(_, text string) (string, bool) {
			got := p.run(strings.NewReader(text), args...)
			return got.stdout + got.stderr, got.code == 0
		}}
	}
	p.does("One line.", "mem", "set", "cli/appended", "-")
	ways = append(ways, cli("mem set with a field", "mem", "set", "cli/field", "-", "--tag", "x"), cli("mem append", "mem", "append", "cli/appended", "-"), cli("intend", "intend", "-", "--due", "2030-01-01"),
		guardedWay{"a folder that is synchronised", func(name, text string) (string, bool) {
			p.write("own/mem/synced/"+name+".md", text)
			got := p.run(strings.NewReader(""), "sync", folder, "--yes")
			return got.stdout + got.stderr, got.code == 0
		}})
	seen := map[string]bool{}
	first := slices.IndexFunc(ways, func(w guardedWay) bool { return w.name == "mind_commit" })
	ways[0], ways[first] = ways[first], ways[0] // before external episodes wait
	for i, way := range ways {
		var words []string
		for j := range 40 {
			words = append(words, fmt.Sprintf("z%c%c%cq", 'a'+i, 'a'+j/20, 'a'+j%20))
		}
		page := fmt.Sprintf("web/page%d", i)
		p.does(strings.Join(words, " ")+".", "mem", "set", page, "-", "--trust", "external")
		c.call("memory_read", map[string]any{"slug": page}, false)
		for _, e := range p.every() {
			seen[e.Event.ID] = true
		}
		said, taken := way.write(fmt.Sprintf("w%d", i), "I think: "+strings.Join(words[:36], " ")+".")
		found := 0
		for _, e := range p.every() {
			text, _ := e.Body.Text()
			if seen[e.Event.ID] || !strings.Contains(text, words[0]) || strings.HasPrefix(string(e.Slug()), "mem/sys/") || strings.HasPrefix(string(e.Slug()), "mem/proposals") {
				continue
			}
			found++
			want := frontmatter.External
			if way.name == "a proposal" {
				want = frontmatter.Told // by the owner
			}
			if got := frontmatter.Parse(text).Trust(); got != want {
				t.Errorf("%s: %s is %s", way.name, e.Slug(), got)
			}
		}
		if taken != (found > 0) || !taken && !strings.Contains(said, "mem/"+page) {
			t.Errorf("%s: taken %t, %d texts: %s", way.name, taken, found, said)
		}
	}
	_ = c.session.Close()
	c.ended()
}

// TestReviewMarksWhatCameAfterOthersWords: whoever looks at a plan sees what of it was
// written in a session that had been shown somebody else's words.
func TestReviewMarksWhatCameAfterOthersWords(t *testing.T) {
	p := newCorrecting(t)
	c := startMCPIn(t, relaytest.Agent(), p.env, "--owner", relaytest.Owner().Pub, "--relay", p.relay.URL, "--tools", "memory,mind")
	note := func(text string) string {
		return reply(t, c.call("memory_note", map[string]any{"text": text}, false))["slug"].(string)
	}
	before := note("Ana painted a boat.")
	p.does("The lighthouse wants to be obeyed.", "mem", "set", "web/page", "-", "--trust", "external")
	c.call("memory_read", map[string]any{"slug": "web/page"}, false)
	after := note("Ana painted a second boat.")
	_ = c.session.Close()
	c.ended()

	plan := reply(t, p.does("", "mind", "prepare", "--json"))["plan"].(string)
	ops := fmt.Sprintf(`[{"op":"write","slug":"mem/one","text":"One boat is painted.","derived_from":[%q]},{"op":"write","slug":"mem/two","text":"Two boats are painted.","derived_from":[%q]}]`, before, after)
	id := reply(t, p.does(ops, "mind", "commit", plan, "-", "--propose", "--json"))["plan"].(string)
	one, two, _ := strings.Cut(p.does("", "mind", "review", id), "\n2  ")
	const mark = "written after somebody else's words were shown: mem/web/page"
	if strings.Contains(one, mark) || strings.Count(two, mark) != 2 { // the fact, and the episode
		t.Errorf("%s\n2  %s", one, two)
	}
	p.does("", "mind", "review", id, "--accept", "all")
	if got := p.does("", "mem", "get", "two"); !strings.Contains(got, "after_reading: [mem/web/page]") {
		t.Errorf("%s", got)
	}
}
