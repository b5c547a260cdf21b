package status

import (
	"fmt"
	"strings"
)

// Cluster is where a node stands among those that execute the same log.
type Cluster struct {
	Name     string   `json:"name"`     // of this node
	Applied  uint64   `json:"applied"`  // the last message that it executed
	LogEnd   uint64   `json:"log_end"`  // the last message that it knows of
	Commands uint64   `json:"commands"` // that it executed
	Compared uint64   `json:"compared"` // of these, up to where the members' outcomes are the same
	Leads    bool     `json:"leads"`    // it does what one does for all
	Clock    float64  `json:"clock_offset_seconds"`
	Version  uint64   `json:"version"`       // at which the cluster writes
	Why      string   `json:"why,omitempty"` // it executes nothing any more
	Refuses  string   `json:"refuses_writes,omitempty"`
	Members  []Member `json:"members"`

	Differing []string `json:"differing,omitempty"` // members that have read another log
	Servers   []string `json:"servers,omitempty"`   // what is to be done about the log's servers
}

// Member is one node, as this one knows it.
type Member struct {
	Name    string  `json:"name"`
	Version uint64  `json:"version"`       // that it could write at
	Heard   float64 `json:"heard_seconds"` // ago, by the log's time
	Durable uint64  `json:"durable"`       // the last message that it said to have on its disk
	Live    bool    `json:"live"`
	Leads   bool    `json:"leads,omitempty"`
}

func (r *Report) writeCluster(line func(string, ...any)) {
	c := r.Cluster
	if c == nil {
		return
	}
	line("\nCLUSTER  %s, version %d", c.Name, c.Version)
	if c.Why != "" {
		line("stopped\t%s", c.Why)
	}
	if c.Refuses != "" {
		line("refuses writes\t%s", c.Refuses)
	}
	behind := "up to date"
	if c.LogEnd > c.Applied {
		behind = fmt.Sprintf("%d behind", c.LogEnd-c.Applied)
	}
	line("executed\t%d of %d, %s", c.Applied, c.LogEnd, behind)
	line("compared\t%d of %d commands have the majority's outcomes", c.Compared, c.Commands)
	if len(c.Differing) > 0 {
		line("another log\t%s", strings.Join(c.Differing, ", "))
	}
	for _, one := range c.Servers {
		line("log\t%s", one)
	}
	line("clock\t%s the log's", ahead(c.Clock))
	line("MEMBER\tVERSION\tHEARD\tDURABLE\tSTATE")
	for _, m := range c.Members {
		state := "live"
		switch {
		case !m.Live:
			state = "NOT HEARD"
		case m.Leads:
			state = "leads"
		}
		line("%s\t%d\t%s ago\t%d\t%s", m.Name, m.Version, span(m.Heard), m.Durable, state)
	}
}

// ahead says how one clock stands to another.
func ahead(seconds float64) string {
	if seconds < 0 {
		return span(-seconds) + " behind"
	}
	return span(seconds) + " ahead of"
}
