package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"engramd/internal/relay/cluster/jetstream"
)

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
		say("the log cannot be reached: %s. Start its servers, and check cluster.urls and cluster.credentials here", fault(f.Log))
		return do
	}
	do = append(do, trouble(&f.Survey)...)
	f.differing(say)
	do = append(do, servers(&f.Survey)...)
	for _, s := range f.Survey.Servers {
		if s.Known && s.Keeps && s.Room > 0 && s.Room-s.Stored < s.Room/10 {
			say("server %s of the log has used %d of %d bytes: make room, or raise max_file in its jetstream block", printable(s.Name), s.Stored, s.Room)
		}
	}
	f.away(say)
	f.clocks(say)
	var first *Node // that has not halted
	for i, n := range f.Nodes {
		if n.Free < leastFree {
			say("node %s has %d bytes free on its disk: make room, or it stops", n.Name, n.Free)
		}
		if n.Halted {
			say("node %s has halted: %s. Run engramd cluster recover there", n.Name, n.Trouble)
			continue
		}
		if n.Trouble != "" {
			say("node %s: %s", n.Name, n.Trouble)
		}
		if n.Applied+farBehind < f.Survey.Last {
			say("node %s is %d messages behind: it catches up, or its disk is slow", n.Name, f.Survey.Last-n.Applied)
		}
		if first == nil {
			first = &f.Nodes[i]
		}
		n.unlike(first, say)
	}
	return do
}

// Log returns what is to be done about the log, and about servers of it that are not as
// they must be, or do not say how they are.
func Log(v *jetstream.Survey) []string { return append(trouble(v), servers(v)...) }

// trouble is of the log as a whole.
func trouble(v *jetstream.Survey) []string {
	if v.Trouble == nil {
		return nil
	}
	text := "the log: " + fault(v.Trouble)
	if !slices.ContainsFunc(v.Servers, func(s jetstream.Server) bool { return s.Keeps }) {
		text += ". Without a majority of its servers nothing is written: start those that are down"
	}
	return []string{text}
}

func servers(v *jetstream.Survey) (do []string) {
	say := func(format string, args ...any) {
		do = append(do, fmt.Sprintf("server %s of the log: "+format, args...))
	}
	for _, s := range v.Servers {
		if s.Fault == nil {
			continue
		}
		name, fault := printable(s.Name), fault(s.Fault)
		switch {
		case errors.Is(s.Fault, jetstream.ErrUnlisted):
			say("%s. Add it on all nodes, or set cluster.system_credentials", name, fault)
		case errors.Is(s.Fault, jetstream.ErrUntold):
			say("%s. Mend those that fail; if none of them is its own, add that on all nodes", name, fault)
		case !s.Known:
			say("%s. Start it; until then the loss of another one stops all writes", name, fault)
		case s.Keeps && s.Loose:
			say("%s; then start it again. Or take it out: engramd cluster remove-server %[1]s. Ten minutes after that was seen nodes take no writes", name, fault)
		default:
			say("%s; then start it again", name, fault)
		}
	}
	if len(v.Silent) > 0 {
		do = append(do, "cluster.monitor: "+fault(errors.Join(v.Silent...)))
	}
	return do
}

// unlike names what is not the same at two nodes.
func (n *Node) unlike(first *Node, say func(string, ...any)) {
	if n.Program != first.Program {
		say("node %s runs engramd %s, and node %s %s: end the upgrade", n.Name, n.Program, first.Name, first.Program)
	}
	for _, key := range slices.Sorted(maps.Keys(first.Settings)) {
		if n.Settings[key] != first.Settings[key] {
			say("%s is %s at node %s, and %s at node %s: make them the same", printable(key), n.Settings[key], n.Name, first.Settings[key], first.Name)
		}
	}
}

// away names members that do not answer.
func (f *Findings) away(say func(string, ...any)) {
	if len(f.Nodes) == 0 {
		say("no node answers: start engramd serve")
		return
	}
	knows := slices.MaxFunc(f.Nodes, func(a, b Node) int { // one that works, if any does
		if a.Halted != b.Halted {
			if a.Halted {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Applied, b.Applied)
	})
	for _, m := range knows.Members {
		switch {
		case slices.ContainsFunc(f.Nodes, func(n Node) bool { return n.ID == m.ID }):
		case knows.Halted:
			say("node %s does not answer: start it, or have its data folder at hand, before the cluster begins again", m.Name)
		default:
			say("node %s does not answer, and was heard %s ago: start it, or read its log; after half an hour it is struck out. If it does not come back: engramd cluster remove %s",
				m.Name, time.Duration(m.Heard*float64(time.Second)).Round(time.Second), m.ID)
		}
	}
}

// differing compares hashes: at each place most nodes that have it have the same.
func (f *Findings) differing(say func(string, ...any)) {
	places, said := map[string]bool{}, map[string]bool{}
	for _, n := range f.Nodes {
		for place := range n.Hashes {
			places[place] = true
		}
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		same, most, all := map[string]int{}, 0, 0
		for _, n := range f.Nodes {
			if hash, known := n.Hashes[place]; known {
				same[hash]++
				most, all = max(most, same[hash]), all+1
			}
		}
		for _, n := range f.Nodes {
			hash, known := n.Hashes[place]
			if !known || said[n.ID] || 2*same[hash] > all {
				continue
			}
			said[n.ID] = true
			if 2*most > all {
				say("node %s differs from the others (%s): stop it, and run engramd cluster recover there (docs/cluster.md, A node that has halted)", n.Name, printable(place))
			} else {
				say("node %s differs, and no hash is a majority's (%s): stop all nodes, and run engramd cluster recover on one and then on each other (docs/cluster.md, A node that has halted)", n.Name, printable(place))
			}
		}
	}
}

// clocks names those that are away from most of them.
func (f *Findings) clocks(say func(string, ...any)) {
	type clock struct {
		of    string
		ahead time.Duration
	}
	all := []clock{{"this machine", 0}}
	for _, n := range f.Nodes {
		all = append(all, clock{"node " + n.Name, n.ahead})
		if n.Doubted {
			say("node %s does not trust its clock: run engramd clock accept there, if it is right", n.Name)
		}
	}
	for _, s := range f.Survey.Servers {
		if s.Known {
			all = append(all, clock{"server " + printable(s.Name) + " of the log", s.Ahead})
		}
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b clock) int { return cmp.Compare(a.ahead, b.ahead) })
	for _, c := range all {
		if off := c.ahead - sorted[(len(all)-1)/2].ahead; off.Abs() > clockSlack {
			say("the clock of %s is %s off from most: set it, by NTP", c.of, off.Round(time.Second))
		}
	}
}

// WriteText writes the findings, and then what is to be done.
func (f *Findings) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	off := func(d time.Duration) string { return fmt.Sprintf("%+.1f s", d.Seconds()) }
	fmt.Fprintln(w, "NODE\tSTATE\tEXECUTED\tCLOCK\tDISK FREE\tPROGRAM")
	for _, n := range f.Nodes {
		state := "answers"
		switch {
		case n.Halted:
			state = "HALTED"
		case n.Leads:
			state = "leads"
		}
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%s\t%d MiB\t%s\n", n.Name, state, n.Applied, max(f.Survey.Last, n.Applied), off(n.ahead), n.Free>>20, n.Program)
	}
	fmt.Fprintln(w, "\nSERVER\tSTATE\tCLOCK\tSTORED\tVERSION")
	for _, s := range f.Survey.Servers {
		state := "in reserve"
		switch {
		case s.Fault != nil && !s.Known:
			state = "DOWN"
		case s.Leads:
			state = "leads"
		case s.Keeps:
			state = "keeps the log"
		}
		if !s.Known {
			fmt.Fprintf(w, "%s\t%s\n", printable(s.Name), state)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d MiB\t%s\n", printable(s.Name), state, off(s.Ahead), s.Stored>>20, s.Room>>20, printable(s.Version))
	}
	do := f.Advice()
	if len(do) == 0 {
		fmt.Fprintln(w, "\nAll is well.")
	} else {
		fmt.Fprintln(w, "\nTO DO")
	}
	for i, one := range do {
		fmt.Fprintf(w, "%d. %s\n", i+1, one)
	}
	return w.Flush()
}
