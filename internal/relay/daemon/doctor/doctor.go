// Package doctor says what is wrong with a cluster, and what to do about it, by what
// its nodes and the servers of its log say of themselves.
package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"engramd/internal/relay/cluster/jetstream"
)

// Suffix is what nodes are asked under.
const Suffix = "doctor"

// Node is what one node says of itself.
type Node struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Program  string            `json:"program"`
	Leads    bool              `json:"leads"`
	Applied  uint64            `json:"applied"` // up to which message
	Hashes   map[string]string `json:"hashes"`
	Clock    time.Time         `json:"clock"`
	Doubted  bool              `json:"clock_doubted"` // it does not trust its clock
	Free     int64             `json:"disk_free_bytes"`
	Trouble  string            `json:"trouble,omitempty"`
	Settings map[string]string `json:"settings"` // that are to be the same on all nodes
	Members  []Member          `json:"members"`

	ahead time.Duration // its clock, of that of who asks
}

// Member is a node that the cluster counts.
type Member struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Heard float64 `json:"heard_seconds"` // ago
}

const (
	mostBytes  = 64 << 10 // of an answer
	mostListed = 256      // things of one kind in it
	mostText   = 200      // bytes of a text
)

var errAnswer = errors.New("not a node's answer")

// Parse reads an answer that came at a time. Anybody in the cluster's account may have
// sent it.
func Parse(answer []byte, now time.Time) (n Node, err error) {
	if len(answer) > mostBytes || json.Unmarshal(answer, &n) != nil || n.ID == "" || max(len(n.Hashes), len(n.Settings), len(n.Members)) > mostListed {
		return Node{}, errAnswer
	}
	for _, text := range []*string{&n.ID, &n.Name, &n.Program, &n.Trouble} {
		*text = printable(*text)
	}
	for i := range n.Members {
		n.Members[i].ID, n.Members[i].Name = printable(n.Members[i].ID), printable(n.Members[i].Name)
	}
	for key, value := range n.Settings {
		n.Settings[key] = printable(value)
	}
	n.ahead = n.Clock.Sub(now)
	return n, nil
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x2000 && r < 0x2070 || r == 0xfffd {
			return '?'
		}
		return r
	}, text[:min(len(text), mostText)])
}

// Findings are what was learned.
type Findings struct {
	Nodes  []Node
	Log    error // why it could not be reached at all
	Survey jetstream.Survey
}

const (
	clockSlack = 5 * time.Second // the same as of the log's time
	farBehind  = 10_000          // messages
	leastFree  = 1 << 30         // bytes
)

// Advice returns what is to be done, the worst first; nothing where all is well.
func (f *Findings) Advice() (do []string) {
	say := func(format string, args ...any) { do = append(do, fmt.Sprintf(format, args...)) }
	if f.Log != nil {
		say("the log cannot be reached: %v. Start its servers, and look at cluster.urls and cluster.credentials here", f.Log)
		return do
	}
	if err := f.Survey.Trouble; err != nil {
		say("the log: %s. Without a majority of its servers nothing is written: start those that are down", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	f.differing(say)
	for _, s := range f.Survey.Servers {
		switch {
		case s.Fault != nil && !s.Known:
			say("server %s of the log: %v. Start it; until then the loss of another one stops all writes", s.Name, s.Fault)
		case s.Fault != nil:
			say("server %s of the log: %v; then start it again", s.Name, s.Fault)
		}
		if s.Known && s.Keeps && s.Room > 0 && s.Room-s.Stored < s.Room/10 {
			say("server %s of the log has used %d of %d bytes: make room, or raise max_file in its jetstream block", s.Name, s.Stored, s.Room)
		}
	}
	f.away(say)
	f.clocks(say)
	for _, n := range f.Nodes {
		if n.Trouble != "" {
			say("node %s: %s", n.Name, n.Trouble)
		}
		if n.Free < leastFree {
			say("node %s has %d bytes free on its disk: make room, or it stops", n.Name, n.Free)
		}
		if n.Applied+farBehind < f.Survey.Last {
			say("node %s is %d messages behind: it catches up, or its disk is slow", n.Name, f.Survey.Last-n.Applied)
		}
	}
	f.settings(say)
	return do
}

// away names members that do not answer.
func (f *Findings) away(say func(string, ...any)) {
	if len(f.Nodes) == 0 {
		say("no node answers: start engramd serve")
		return
	}
	knows := slices.MaxFunc(f.Nodes, func(a, b Node) int { return int(min(a.Applied, 1<<62)) - int(min(b.Applied, 1<<62)) })
	for _, m := range knows.Members {
		if !slices.ContainsFunc(f.Nodes, func(n Node) bool { return n.ID == m.ID }) {
			say("node %s does not answer, and was heard %s ago: start it, or see what its log says; it is struck out when it was away for half an hour. If it does not come back: engramd cluster remove %s",
				m.Name, time.Duration(m.Heard*float64(time.Second)).Round(time.Second), m.ID)
		}
	}
}

// differing compares hashes: at each place most nodes that have it have the same.
func (f *Findings) differing(say func(string, ...any)) {
	places := map[string]map[string][]string{}
	for _, n := range f.Nodes {
		for place, hash := range n.Hashes {
			if places[place] == nil {
				places[place] = map[string][]string{}
			}
			places[place][hash] = append(places[place][hash], n.Name)
		}
	}
	said := map[string]bool{}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		at := places[place]
		if len(at) == 1 {
			continue
		}
		most, all := 0, 0
		for _, names := range at {
			most, all = max(most, len(names)), all+len(names)
		}
		for _, hash := range slices.Sorted(maps.Keys(at)) {
			names, place := strings.Join(at[hash], ", "), printable(place)
			switch lone := 2*len(at[hash]) <= all; {
			case said[names] || !lone:
				continue
			case 2*most > all:
				say("node %s differs from the others (%s): stop it, and have it join again by engramd cluster rejoin (docs/cluster.md, When the log went back)", names, place)
			default:
				say("node %s differs, and no hash is a majority's (%s): see Beginning again in docs/cluster.md", names, place)
			}
			said[names] = true
		}
	}
}

// clocks names those that are away from most of them.
func (f *Findings) clocks(say func(string, ...any)) {
	all := []time.Duration{0} // this machine's
	for _, n := range f.Nodes {
		all = append(all, n.ahead)
		if n.Doubted {
			say("node %s does not trust its clock: engramd clock accept there, if it is right", n.Name)
		}
	}
	for _, s := range f.Survey.Servers {
		if s.Known {
			all = append(all, s.Ahead)
		}
	}
	slices.Sort(all)
	median := all[(len(all)-1)/2]
	check := func(whose string, ahead time.Duration) {
		if off := ahead - median; off.Abs() > clockSlack {
			say("the clock of %s is %s off from most: set it, by NTP", whose, off.Round(time.Second))
		}
	}
	check("this machine", 0)
	for _, n := range f.Nodes {
		check("node "+n.Name, n.ahead)
	}
	for _, s := range f.Survey.Servers {
		if s.Known {
			check("server "+s.Name+" of the log", s.Ahead)
		}
	}
}

// settings names what is not the same everywhere.
func (f *Findings) settings(say func(string, ...any)) {
	for _, n := range f.Nodes {
		first := f.Nodes[0]
		if n.Program != first.Program {
			say("node %s runs engramd %s, and node %s %s: end the upgrade", n.Name, n.Program, first.Name, first.Program)
		}
		for _, key := range slices.Sorted(maps.Keys(first.Settings)) {
			if n.Settings[key] != first.Settings[key] {
				say("%s is %s at node %s, and %s at node %s: make them the same", printable(key), n.Settings[key], n.Name, first.Settings[key], first.Name)
			}
		}
	}
}
