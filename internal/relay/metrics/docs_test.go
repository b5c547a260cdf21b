package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	dashboardFile = "../../../docs/grafana-dashboard.json"
	alertsFile    = "../../../docs/prometheus-alerts.yml"
)

// described lists the names and types of all registered metrics.
func described(t *testing.T) map[string]string {
	t.Helper()
	m := New("test")
	m.WatchSizes(Sizes{})
	m.WatchReads(func() Reads { return Reads{} })
	m.WatchClock(func() bool { return true })
	m.WatchReady(func() bool { return true })
	m.Store.QueryDone("query", 0, "")
	m.Snapshots.SnapshotDone("gc", "ok", time.Unix(0, 0), 0)
	m.Replicas.ReplicaEvent(1, "taken", "")
	m.WatchReplicas(func() []ReplicaLag { return make([]ReplicaLag, 1) })
	m.WatchCluster(func() Cluster { return Cluster{} })
	m.WatchOutbox(1, func() []OutboxLag { return make([]OutboxLag, 2) })
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, f := range families {
		types[f.GetName()] = f.GetType().String()
	}
	return types
}

var metricName = regexp.MustCompile(`\b(?:engramd|go|process)_[a-z0-9_]+`)

// used lists the metrics that a file names, histogram suffixes taken off.
func used(t *testing.T, file string, types map[string]string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range metricName.FindAllString(string(text), -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && types[base] == "HISTOGRAM" {
				name = base
			}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// TestDashboardAndAlertsNameWhatExists: a renamed metric would leave a panel
// empty and an alert silent for ever.
func TestDashboardAndAlertsNameWhatExists(t *testing.T) {
	types := described(t)
	for _, file := range []string{dashboardFile, alertsFile} {
		for _, name := range used(t, file, types) {
			if _, ok := types[name]; !ok {
				t.Errorf("%s uses %s, which is not registered", file, name)
			}
		}
	}
}

// TestOperatorsTableIsComplete: docs/operating.md lists the daemon's own
// metrics, all of them and no others.
func TestOperatorsTableIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `engramd_") {
			continue
		}
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, name := range metricName.FindAllString(names, -1) {
			listed[name] = true
		}
	}
	types := described(t)
	for name := range listed {
		if _, ok := types[name]; !ok {
			t.Errorf("docs/operating.md lists %s, which is not registered", name)
		}
	}
	for name := range types {
		if strings.HasPrefix(name, "engramd_") && !listed[name] {
			t.Errorf("docs/operating.md does not list %s", name)
		}
	}
}

// TestDashboardAndAlertsUseLabelsThatExist checks label values in selectors
// against the closed sets.
func TestDashboardAndAlertsUseLabelsThatExist(t *testing.T) {
	known := map[string][]string{}
	for _, l := range []label{gateClasses, outcomeLabel, gateSurfaces, gateRules, decisionLabel, queueLabel, queryLabel, effortLabel,
		frameReasonLabel, refusedLabel, slowLabel, causeLabel, failureLabel, removedLabel,
		snapshotOperationLabel, snapshotOutcomeLabel, targetLabel, attemptLabel} {
		known[l.name] = append(known[l.name], l.values...)
	}
	known["job"], known["instance"], known["relay"] = nil, nil, nil
	selector := regexp.MustCompile(`\b([a-z]+)(=~|!=|=)\\?"([^"\\]*)\\?"`)
	for _, file := range []string{dashboardFile, alertsFile} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range selector.FindAllStringSubmatch(string(text), -1) {
			values, ok := known[m[1]]
			if !ok {
				t.Errorf("%s: label %s is not known", file, m[1])
			}
			for v := range strings.SplitSeq(m[3], "|") {
				if values != nil && !slices.Contains(values, v) && v != "ok" && v != "refused" {
					t.Errorf("%s: %s never has the value %q", file, m[1], v)
				}
			}
		}
	}
}

func TestDashboardIsWhole(t *testing.T) {
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Title  string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d %q: id twice, no title, or wider than the grid", p.ID, p.Title)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
	}
	if d.Title != "engramd" || len(ids) < 20 {
		t.Errorf("%q with %d panels", d.Title, len(ids))
	}
}
