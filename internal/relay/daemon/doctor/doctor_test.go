package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"engramd/internal/relay/cluster/jetstream"
)

// healthy are three nodes and three servers that are well.
func healthy() *Findings {
	f := &Findings{Survey: jetstream.Survey{Last: 1000}}
	var members []Member
	for _, name := range []string{"a", "b", "c"} {
		members = append(members, Member{ID: "id-" + name, Name: name, Heard: 2})
	}
	for i, m := range members {
		f.Nodes = append(f.Nodes, Node{
			ID: m.ID, Name: m.Name, Program: "1.2.3", Leads: i == 0, Applied: 1000 - uint64(i), Free: 1 << 40, Members: members,
			Hashes:   map[string]string{"message 990": "aa", "command 900": "bb", "message " + fmt.Sprint(1000-i): fmt.Sprint(i)},
			Settings: map[string]string{"cluster.reads": "latest"},
		})
		f.Survey.Servers = append(f.Survey.Servers, jetstream.Server{Name: "s" + m.Name, Version: "2.12.1", Keeps: true, Leads: i == 1, Known: true, Room: 1 << 40})
	}
	return f
}

// Each thing that is wrong is named, and what to do about it; nothing else is.
func TestAdvice(t *testing.T) {
	for name, one := range map[string]struct {
		spoil func(f *Findings)
		want  []string // a part of each advice
	}{
		"healthy":                {func(*Findings) {}, nil},
		"no log":                 {func(f *Findings) { f.Log = errors.New("refused") }, []string{"cannot be reached: refused"}},
		"a node down":            {func(f *Findings) { f.Nodes = f.Nodes[:2] }, []string{"node c does not answer, and was heard 2s ago"}},
		"no node":                {func(f *Findings) { f.Nodes = nil }, []string{"no node answers"}},
		"a node with others' id": {func(f *Findings) { f.Nodes[2].ID = "id-b" }, []string{"node c does not answer"}},
		"a node behind":          {func(f *Findings) { f.Survey.Last = 20_000; f.Nodes[0].Applied, f.Nodes[1].Applied = 20_000, 19_000 }, []string{"node c is 19002 messages behind"}},
		"a node's disk":          {func(f *Findings) { f.Nodes[1].Free = 5 }, []string{"node b has 5 bytes free"}},
		"a node that halts":      {func(f *Findings) { f.Nodes[1].Trouble = "it went back" }, []string{"node b: it went back"}},
		"a node's clock":         {func(f *Findings) { f.Nodes[2].ahead = -time.Hour }, []string{"the clock of node c is -1h0m0s off"}},
		"a node's doubts":        {func(f *Findings) { f.Nodes[2].Doubted = true }, []string{"clock accept"}},
		"a node's setting":       {func(f *Findings) { f.Nodes[1].Settings = map[string]string{"cluster.reads": "local"} }, []string{"cluster.reads is local at node b, and latest at node a"}},
		"a node's program":       {func(f *Findings) { f.Nodes[1].Program = "1.3" }, []string{"end the upgrade"}},
		"a node's hash":          {func(f *Findings) { f.Nodes[1].Hashes = map[string]string{"message 990": "xx", "command 900": "xx"} }, []string{"node b differs from the others (command 900): stop it, and run engramd cluster recover there"}},
		"two nodes, two hashes":  {func(f *Findings) { f.Nodes[1].Hashes["command 900"] = "xx"; delete(f.Nodes[2].Hashes, "command 900") }, []string{"node a differs, and no hash is a majority's (command 900): stop all nodes, and run engramd cluster recover", "node b differs, and no hash is a majority's"}},
		"a server down": {func(f *Findings) {
			s := &f.Survey.Servers[1]
			s.Known, s.Fault = false, errors.New("it does not answer")
		}, []string{"server sb of the log: it does not answer. Start it"}},
		"a server's setting": {func(f *Findings) {
			f.Survey.Servers[0].Fault = errors.New(`sync_interval of server sa is not "always"`)
		}, []string{"sync_interval"}},
		"a server that does not sync": {func(f *Findings) {
			s := &f.Survey.Servers[0]
			s.Fault, s.Loose = errors.New(`sync_interval of server sa is not "always"`), true
		}, []string{"take it out: engramd cluster remove-server sa."}},
		"a server that is not listed": {func(f *Findings) {
			s := &f.Survey.Servers[2]
			s.Known, s.Fault = false, jetstream.ErrUnlisted
		}, []string{"server sc of the log: it keeps the log, and no URL in cluster.monitor leads to it. Add it on all nodes"}},
		"a server whose URL fails": {func(f *Findings) {
			s := &f.Survey.Servers[2]
			s.Known, s.Fault, f.Survey.Silent = false, jetstream.ErrUntold, []error{errors.New("https://sc:8222: the certificate has expired")}
		}, []string{"server sc of the log: it keeps the log, and no URL in cluster.monitor that answers leads to it. Mend", "cluster.monitor: https://sc:8222: the certificate has expired"}},
		"URLs that fail": {func(f *Findings) {
			f.Survey.Silent = []error{errors.New(strings.Repeat("x", mostText)), errors.New("the second one")}
		}, []string{"; the second one"}},
		"a server with a strange name": {func(f *Findings) {
			s := &f.Survey.Servers[0]
			s.Name, s.Version, s.Fault = "s\x1b[2J", "\x1b[1m", errors.New("version of s\x1b[2J is old")
		}, []string{"version of s?[2J is old"}},
		"a URL of nobody":          {func(f *Findings) { f.Survey.Silent = []error{errors.New("http://127.0.0.1:1: refused")} }, []string{"cluster.monitor: http://127.0.0.1:1: refused"}},
		"a server's clock":         {func(f *Findings) { f.Survey.Servers[0].Ahead = time.Hour }, []string{"the clock of server sa of the log is 1h0m0s off"}},
		"a server's disk":          {func(f *Findings) { f.Survey.Servers[0].Stored = 1<<40 - 7 }, []string{"make room, or raise max_file"}},
		"a server that is asleep":  {func(f *Findings) { f.Survey.Trouble = errors.New("the log has no leader") }, []string{"the log has no leader"}},
		"a log without a majority": {func(f *Findings) { f.Survey = jetstream.Survey{Trouble: errors.New("no leader\nof s\x1b[2J")} }, []string{"the log: no leader; of s?[2J. Without a majority of its servers nothing is written"}},
		"a halted node that knows most": {func(f *Findings) {
			f.Nodes = f.Nodes[:2]
			n := &f.Nodes[0]
			n.Halted, n.Trouble, n.Members, n.Applied = true, "it went back", nil, 2000
		}, []string{"node c does not answer, and was heard 2s ago", "node a has halted: it went back"}},
		"halted nodes alone": {func(f *Findings) {
			f.Nodes = f.Nodes[:2]
			for i := range f.Nodes {
				f.Nodes[i].Halted, f.Nodes[i].Trouble = true, "it went back"
			}
		}, []string{"node c does not answer: start it", "node a has halted", "node b has halted"}},
		"this machine's clock": {func(f *Findings) {
			for i := range 3 {
				f.Nodes[i].ahead, f.Survey.Servers[i].Ahead = time.Minute, time.Minute
			}
		}, []string{"the clock of this machine is -1m0s off"}},
	} {
		f := healthy()
		one.spoil(f)
		got := f.Advice()
		ok := len(got) == len(one.want)
		for i := 0; ok && i < len(got); i++ {
			ok = strings.Contains(got[i], one.want[i])
		}
		if !ok {
			t.Errorf("%s: %q", name, got)
		}
		var text strings.Builder
		if err := f.WriteText(&text); err != nil || strings.Contains(text.String(), "\x1b") || strings.Contains(text.String(), "All is well") != (len(got) == 0) {
			t.Errorf("%s: %v %s", name, err, text.String())
		}
	}
}

// What is wrong with the log as a whole is said where only it is looked at, before its
// servers.
func TestLog(t *testing.T) {
	v := healthy().Survey
	if got := Log(&v); len(got) != 0 {
		t.Errorf("%q", got)
	}
	v.Trouble, v.Servers[0].Fault = errors.New("2 servers keep the log, and 3 should"), errors.New("old")
	if got := Log(&v); len(got) != 2 || got[0] != "the log: 2 servers keep the log, and 3 should" || !strings.Contains(got[1], "server sa of the log: old") {
		t.Errorf("%q", got)
	}
}

// Whoever is in the cluster's account may answer anything.
func TestParseRefuses(t *testing.T) {
	many := Node{ID: "x", Hashes: map[string]string{}}
	for i := range mostListed + 1 {
		many.Hashes[fmt.Sprint(i)] = ""
	}
	much, _ := json.Marshal(many)
	for _, text := range []string{"", "{}", "[]", `{"id":""}`, `{"id":"x","clock":"now"}`, string(much), strings.Repeat(" ", mostBytes) + `{"id":"x"}`} {
		if n, err := Parse([]byte(text), time.Now()); err == nil {
			t.Errorf("%.40q is taken for %+v", text, n)
		}
	}
	n, err := Parse([]byte(`{"id":"x","name":"a\u001b[2J\n","clock":"2026-01-01T00:00:10Z"}`), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil || n.Name != "a?[2J?" || n.ahead != 10*time.Second {
		t.Errorf("%+v, %v", n, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, n := range healthy().Nodes {
		text, _ := json.Marshal(n)
		f.Add(text)
	}
	f.Add([]byte(`{"id":"x","clock":"0001-01-01T00:00:00Z","applied":18446744073709551615,"members":[{"heard_seconds":-1e300}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := Parse(text, time.Unix(0, 0))
		if err != nil {
			return
		}
		var out strings.Builder
		g := healthy()
		g.Nodes = append(g.Nodes, n)
		if err := g.WriteText(&out); err != nil || !utf8.ValidString(out.String()) || strings.ContainsAny(out.String(), "\x1b\r") {
			t.Fatalf("%q, %v", out.String(), err)
		}
	})
}
