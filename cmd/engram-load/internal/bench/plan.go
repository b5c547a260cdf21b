package bench

import (
	"slices"

	"engramd/cmd/engram-load/internal/load"
)

// planned is one run to be.
type planned struct {
	measure *Measure
	server  *Server
	size    int // of the corpus; 0: the folder is empty
	round   int
}

// session is what one process of a server is measured with: one workload over
// an empty folder, or all that read the same corpus, one after the other.
type session struct {
	server *Server
	size   int
	runs   []planned
}

// Choice narrows what the configuration says. Empty lists mean all.
type Choice struct {
	Quick    bool
	Rounds   int
	Servers  []string
	Measures []string
	Sizes    []int
}

// rounds returns how many rounds there are.
func (c *Config) rounds(ch Choice) int {
	switch {
	case ch.Rounds > 0:
		return ch.Rounds
	case ch.Quick:
		return c.Quick.Rounds
	}
	return c.Rounds
}

// plan orders all runs: round by round, and in each round the servers take
// turns, so that a drift of the machine meets all of them.
func (c *Config) plan(ch Choice) []session {
	var sessions []session
	for round := 1; round <= c.rounds(ch); round++ {
		for i := range c.Measures {
			if m := &c.Measures[i]; len(m.Sizes) == 0 && chosen(ch.Measures, m.Name) {
				for _, s := range c.serversOf(m, 0, round, ch) {
					sessions = append(sessions, session{s, 0, []planned{{m, s, 0, round}}})
				}
			}
		}
		for _, size := range c.sizes(ch) {
			for i := range c.Servers {
				one := session{server: &c.Servers[i], size: size}
				for j := range c.Measures {
					m := &c.Measures[j]
					if chosen(ch.Measures, m.Name) && slices.Contains(m.Sizes, size) && slices.Contains(c.serversOf(m, size, round, ch), one.server) {
						one.runs = append(one.runs, planned{m, one.server, size, round})
					}
				}
				if len(one.runs) > 0 {
					sessions = append(sessions, one)
				}
			}
		}
	}
	return sessions
}

// sizes of corpora that any measure needs, smallest first.
func (c *Config) sizes(ch Choice) []int {
	var all []int
	for _, m := range c.Measures {
		if chosen(ch.Measures, m.Name) {
			all = append(all, m.Sizes...)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(n int) bool {
		return !chosen(ch.Sizes, n) || ch.Quick && n > c.Quick.Largest
	})
}

// serversOf returns those that a measure is run on in a round.
func (c *Config) serversOf(m *Measure, size, round int, ch Choice) []*Server {
	var all []*Server
	for i := range c.Servers {
		s := &c.Servers[i]
		if chosen(ch.Servers, s.Name) && chosen(m.Servers, s.Name) &&
			(s.Rounds == 0 || round <= s.Rounds) && (s.Largest == 0 || size <= s.Largest) {
			all = append(all, s)
		}
	}
	return all
}

func chosen[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// options returns those of one run. What the measure leaves out is the
// workload's.
func (p planned) options(c *Config, quick bool) load.Options {
	m := p.measure
	o := load.Options{
		Count: m.Count, Connections: m.Connections, Pipeline: m.Pipeline, Warmup: m.Warmup,
		Rate: m.Rate, Subscriptions: m.Subscriptions, Exec: p.server.Import, Check: p.server.Dump, Auth: m.Auth, Timeout: m.Timeout.Duration, Size: p.size, Seed: c.Seed,
	}
	if n, ok := p.server.Counts[m.Name]; ok {
		o.Count = n
	}
	if quick && m.QuickCount > 0 && (o.Count == 0 || m.QuickCount < o.Count) {
		o.Count = m.QuickCount
	}
	return o
}
