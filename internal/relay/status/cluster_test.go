package status_test

import (
	"strings"
	"testing"

	"engramd/internal/relay/status"
)

// TestCluster: a node says where it stands and whom it hears, and a process
// that is alone says nothing of it.
func TestCluster(t *testing.T) {
	s := sources(&parts{})
	text := func() string {
		t.Helper()
		r, err := s.Report(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := r.WriteText(&out, 1); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	if got := text(); strings.Contains(got, "CLUSTER") {
		t.Errorf("alone it says %s", got)
	}
	c := status.Cluster{Name: "north", Applied: 90, LogEnd: 100, Commands: 70, Compared: 60, Differing: []string{"south"}, Servers: []string{"server s1 does not sync"}, Clock: -1.5, Version: 2, Why: "outcomes differ from message 91 on",
		Members: []status.Member{{Name: "north", Version: 2, Live: true}, {Name: "south", Version: 2, Heard: 3, Durable: 95, Live: true, Leads: true}, {Name: "west", Version: 1, Heard: 120}}}
	s.Cluster = func() *status.Cluster { return &c }
	for _, want := range []string{
		"CLUSTER north, version 2 stopped outcomes differ from message 91 on", "executed 90 of 100, 10 behind", "compared 60 of 70 commands have the majority's outcomes", "another log south", "log server s1 does not sync", "clock 1.5s behind the log's",
		"north 2 0s ago 0 live", "south 2 3s ago 95 leads", "west 1 2m0s ago 0 NOT HEARD",
	} {
		if got := text(); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	c.Why, c.Refuses = "", "a server of the log does not sync"
	if got := text(); !strings.Contains(got, "refuses writes a server of the log does not sync executed") || strings.Contains(got, "stopped") {
		t.Errorf("a node that only refuses writes: %s", got)
	}
	c.Applied, c.Clock = 100, 0.25
	if got := text(); !strings.Contains(got, "100 of 100, up to date") || !strings.Contains(got, "250ms ahead of the log's") {
		t.Errorf("it says %s", got)
	}
}
