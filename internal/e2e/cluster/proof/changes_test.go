package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// edit replaces a text in the configuration, which is there.
func (m *machine) edit(old, text string) {
	m.t.Helper()
	all, err := os.ReadFile(m.file("engramd.toml"))
	if err != nil || !strings.Contains(string(all), old) {
		m.t.Fatalf("%s: no %q in %s, %v", m.host, old, all, err)
	}
	if err := os.WriteFile(m.file("engramd.toml"), []byte(strings.Replace(string(all), old, text, 1)), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// does runs a command of engramd by the machine's configuration.
func (m *machine) does(args ...string) {
	m.t.Helper()
	args = append(args[:len(args):len(args)], "--config", m.file("engramd.toml"))
	m.ok(relaytest.RunBinary(m.t, relaytest.Build{}, nil, nil, args...))
}

// letIn has machines join that keep the log too, by tokens of one that runs.
func (m *machine) letIn(others ...*machine) {
	m.t.Helper()
	tokens, _ := m.let(others...)
	var wait []func() error
	for i, one := range others {
		join, _ := one.engramd(tokens[i]+"\n", "cluster", "join", "--token-file", "-", "--data", one.data)
		wait = append(wait, join.Wait)
		until(m.t, one.host+" was let in", func() error { _, err := os.Stat(one.file("nats.conf")); return err })
		one.startServer()
	}
	if m.node == nil {
		m.startNode()
	}
	for i, one := range others {
		if err := wait[i](); err != nil {
			m.t.Fatalf("%s: %v", one.host, err)
		}
		one.startNode()
	}
	m.healthy()
}

// beginAgain lives through what docs/cluster-changes.md has all nodes stopped for: the
// old log is removed on all machines, and the first one begins again.
func beginAgain(t *testing.T, all []*machine, change func()) {
	t.Helper()
	for _, m := range all {
		m.node.Stop()
		m.killServer()
		if err := os.RemoveAll(m.file("log")); err != nil {
			t.Fatal(err)
		}
		m.startServer()
	}
	change()
	for i, m := range all {
		if i == 0 {
			m.does("cluster", "leave")
			m.does("cluster", "init")
		} else {
			m.does("cluster", "rejoin")
		}
		m.startNode()
	}
	all[0].healthy()
}

// has fails unless the events, and no others of a list, are at all machines.
func has(t *testing.T, all []*machine, want, not *event) {
	t.Helper()
	for _, m := range all {
		got, err := dial(t, m).Query(relaytest.Filter{"ids": []string{want.ID, not.ID}})
		if err != nil || len(got.Events) == 0 || want != not && (len(got.Events) != 1 || got.Events[0].ID != want.ID) {
			t.Errorf("%s: %+v, %v", m.host, got, err)
		}
	}
}

// TestClusterChanged: the procedures of docs/cluster-changes.md, by its commands.
func TestClusterChanged(t *testing.T) {
	t.Parallel()
	all := machines(t, 4)
	a, b, c, d := all[0], all[1], all[2], all[3]
	a.ok(a.cluster("", "init", "--advertise", a.host, "--servers", b.host+","+c.host, "--data", a.data, "--public-url", "wss://relay.example"))
	a.startServer()
	a.letIn(b, c)

	a.edit("cluster.urls = [", fmt.Sprintf("cluster.urls = [\"tls://%s:4222\", ", d.host)) // adding a log server
	a.letIn(d)
	for _, m := range []*machine{b} {
		m.edit("cluster.urls = [", fmt.Sprintf("cluster.urls = [\"tls://%s:4222\", ", d.host))
	}
	until(t, "it is in reserve", func() error {
		if r := a.cluster("", "doctor", "--config", a.file("engramd.toml")); strings.Count(string(r.Stdout), "in reserve") != 1 {
			return fmt.Errorf("%s%s", r.Stdout, r.Stderr)
		}
		return nil
	})

	c.node.Stop() // replacing one, and removing a node
	c.does("cluster", "leave")
	c.killServer()
	a.does("cluster", "remove-server", c.host)
	a.healthy()
	if r := a.cluster("", "doctor", "--config", a.file("engramd.toml")); strings.Contains(string(r.Stdout), c.host) || strings.Contains(string(r.Stdout), "in reserve") {
		t.Errorf("it has not the copy: %s", r.Stdout)
	}
	left := []*machine{a, b, d}
	for _, m := range left {
		m.edit(fmt.Sprintf(", \"tls://%s:4222\"", c.host), "")
	}
	k := relaytest.NewKey(2143)
	first, second := note(k, "first"), note(k, "second")
	mustStore(t, dial(t, b), first)
	backup := filepath.Join(t.TempDir(), "backup.db")
	has(t, []*machine{a}, first, first)
	a.does("backup", backup)
	mustStore(t, dial(t, d), second)
	has(t, left, second, second)

	beginAgain(t, left, func() {
		for _, m := range left {
			m.edit("wss://relay.example", "wss://new.example")
		}
	})
	has(t, left, first, first)
	has(t, left, second, second)
	beginAgain(t, left, func() { a.does("restore", backup) })
	has(t, left, first, second)
}
