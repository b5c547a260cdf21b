//go:build harness

package harnesses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/notrun"
)

// wanted are the harnesses that have to be there, by their names in setup; HARNESSES
// lists them. Without it those that are installed are tested.
var wanted = strings.Fields(os.Getenv("HARNESSES"))

// missing are harnesses of the list that no registry has in a form that runs here.
var missing = map[string]string{}

const (
	coreText   = "My user is Ada, who counts in herons."
	deployText = "Deploys of Atlas go through the magpie staging database first."
	question   = "How do we deploy this?"
)

// TestHarness lives through the sessions of a person with each harness: one before
// setup, one that may not write, one that is told something, one that knows it, and one
// in another project; then all is taken out again.
func TestHarness(t *testing.T) {
	var table costs
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			cache := filepath.Join(os.Getenv("HARNESS_CACHE"), p.name)
			argv := p.argv(cache)
			if _, err := os.Stat(argv[0]); err != nil {
				if slices.Contains(wanted, p.name) {
					t.Fatalf("%s is to be tested, and is not installed: %v", p.title, err)
				}
				notrun.Skip(t, p.title+" is not installed: make harness-deps")
			}
			l := &life{home: newHome(t, p), program: p, command: argv}
			l.lead()
			table = append(table, l.cost(version(t, cache)))
		})
	}
	for name, why := range missing {
		t.Run(name, func(t *testing.T) { notrun.Skip(t, why) })
	}
	table.show(t)
}

// version is that of the first package that a program's folder asks for.
func version(t *testing.T, cache string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cache, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var in struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &in); err != nil {
		t.Fatal(err)
	}
	for name, v := range in.Dependencies {
		if !strings.HasPrefix(name, "node-") {
			return v
		}
	}
	return "?"
}

type life struct {
	*home
	program
	command     []string
	sessions    int
	bare, known request // the first requests of a session before setup, and of the one that knows
	alone       request // of one that knows, without the harness's own memory; the zero one where it has none to switch off
}

func (l *life) lead() {
	l.t.Helper()
	l.bare = l.session("atlas", question)[0]
	before := l.settings(l.looked)
	l.setup("--new-owner", "--password-file", l.path("password"), "--relay", l.relay.URL)
	l.run(l.dir, "engramctl", "setup", "--remove", l.name)
	after := l.settings(l.looked)
	for name, text := range after {
		if was, found := before[name]; !found || was != text {
			l.t.Errorf("setup and --remove leave %s as\n%s\nwhich was\n%s", name, text, was)
		}
	}
	for _, name := range gone(before, after) {
		l.t.Errorf("setup and --remove leave no %s, which was\n%s", name, before[name])
	}
	l.withoutAllow()
	allow := l.asked("--allow")
	l.setup(allow...)
	set := l.settings(l.looked)
	l.remember(len(allow) > 0)
	used := l.settings(l.looked)
	if l.name == "claude" {
		l.setup(append(allow, "--no-builtin-memory")...)
		if l.alone = l.session("atlas", question)[0]; l.alone.bytes >= l.known.bytes || !strings.Contains(l.alone.said(), deployText) {
			l.t.Errorf("without its own memory a session has %d bytes, and with it %d", l.alone.bytes, l.known.bytes)
		}
	}
	l.run(l.dir, "engramctl", "setup", "--remove", l.name)
	after = l.settings(l.looked)
	for name, text := range after {
		if strings.Contains(text, "engramctl") || set[name] == used[name] && before[name] != text {
			l.t.Errorf("after the sessions --remove leaves %s as\n%s\nwhich was\n%s", name, text, before[name])
		}
	}
	for _, name := range gone(before, after) {
		if _, used := used[name]; used {
			l.t.Errorf("after the sessions --remove leaves no %s, which was\n%s", name, before[name])
		}
	}
}

func (l *life) setup(args ...string) {
	l.t.Helper()
	l.run(l.dir, "engramctl", append([]string{"setup", l.name, "--yes"}, args...)...)
}

// withoutAllow has a session write and delete, which nobody allowed.
func (l *life) withoutAllow() {
	l.t.Helper()
	l.setup(l.asked("--no-allow")...)
	results := results(l.session("atlas", "Remember it. "+scripted(write("mem/asked", "Whether one may."), call{Tool: "memory_delete", Input: json.RawMessage(`{"slug": "mem/asked"}`)})))
	_, err := l.try("", l.dir, "engramctl", "mem", "get", "mem/asked")
	refused := l.asks == hidden && results == "" || l.asks != hidden && strings.Contains(results, cmp.Or(l.asks, "approv"))
	if (err == nil) != l.deletes || (l.asks != "") != refused {
		l.t.Errorf("without --allow the tools gave %s; read again: %v", results, err)
	}
}

// asked is a flag of setup, if it has it.
func (l *life) asked(flag string) []string {
	l.t.Helper()
	if strings.Contains(l.run(l.dir, "engramctl", "setup", "--help"), "--allow") {
		return []string{flag}
	}
	notrun.Part(l.t, "setup has no "+flag)
	return nil
}

// remember has the three sessions. Where setup cannot allow, a person writes in place of
// the first.
func (l *life) remember(allowed bool) {
	l.t.Helper()
	var project struct{ Slug string }
	if err := json.Unmarshal([]byte(l.run(l.path("atlas"), "engramctl", "project", "show", "--json")), &project); err != nil {
		l.t.Fatal(err)
	}
	results := results(l.session("atlas", "I am Ada. Remember it. "+scripted(write("core", coreText), write(project.Slug+"/deploy", deployText))))
	if l.asks != "" && !allowed {
		l.run(l.dir, "engramctl", "mem", "set", "core", coreText)
		l.run(l.dir, "engramctl", "mem", "set", project.Slug+"/deploy", deployText)
		l.run(l.path("atlas"), "engramctl", "project", "link")
	} else if got := l.run(l.dir, "engramctl", "mem", "get", "core"); !strings.Contains(got, coreText) {
		l.t.Errorf("with --allow the tools gave %s, and the core is %s", results, got)
	}
	if l.elsewhere {
		l.run(l.path("atlas"), "engramctl", "project", "link")
	}
	l.known = l.session("atlas", question)[0]
	for _, text := range []string{coreText, deployText} {
		if !strings.Contains(l.known.said(), text) {
			l.t.Errorf("session 2 is not told %q, but\n%s", text, l.known.said())
		}
	}
	other := l.session("other", question)[0]
	if said := other.said(); !strings.Contains(said, coreText) || strings.Contains(said, deployText) || strings.Contains(said, project.Slug) {
		l.t.Errorf("session 3, in another project, is told\n%s", said)
	}
}

// session is a process of the harness in a folder. It returns the requests that could
// use tools: harnesses ask models for titles too.
func (l *life) session(folder, prompt string) []request {
	l.t.Helper()
	out, err := l.try(prompt, l.path(folder), l.command[0], l.command[1:]...)
	all, other := l.model.take()
	all = slices.DeleteFunc(all, func(r request) bool { return len(r.tools) == 0 })
	if err != nil || len(all) == 0 {
		l.t.Fatalf("a session of %s: %v, %d requests, and besides %v\n%s", l.title, err, len(all), other, out)
	}
	if dir := os.Getenv("HARNESS_RECORD"); dir != "" {
		l.sessions++
		for i, r := range all {
			name := filepath.Join(dir, fmt.Sprintf("%s-%d-%d.json", l.name, l.sessions, i))
			if err := os.WriteFile(name, []byte(r.body), 0o600); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	l.t.Logf("%d requests; asked for besides: %s", len(all), strings.Join(other, ", "))
	return all
}

// results are what the tools gave in a session, as its longest request has them: some
// harnesses ask a model for more when a session ends.
func results(all []request) (longest string) {
	for _, r := range all {
		var texts []string
		for _, it := range r.items {
			if it.role == "tool" && !strings.Contains(it.id, findMark) {
				texts = append(texts, it.text)
			}
		}
		if joined := strings.Join(texts, "\n"); len(joined) > len(longest) {
			longest = joined
		}
	}
	return longest
}

func write(slug, text string) call {
	return call{Tool: "memory_write", Input: json.RawMessage(encode(m{"slug": slug, "text": text}))}
}

// scripted is a prompt that has the stand-in make these calls.
func scripted(calls ...call) string { return scriptMark + encode(calls) }
