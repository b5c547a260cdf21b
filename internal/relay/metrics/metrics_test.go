package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestUnlistedLabelValuesBecomeOther(t *testing.T) {
	m := New("test")
	key := strings.Repeat("ab", 32)
	m.Relay.EventDone(key, "stored")
	m.Relay.EventDone("engram", key)
	m.Relay.GateDecision(key, key, key)
	m.Sessions.FrameRead("BOGUS")
	m.Sessions.FrameRefused(key)
	m.Sessions.ConnectionRefused(key)
	m.Sessions.SlowReaderCut(key)
	m.Store.QueryDone(key, time.Millisecond, key)
	m.Store.Removed(key, 2)
	m.Store.Retired(key, 2)
	m.Store.QueueAdd(key, 1)
	m.HTTP.HTTPDone("/"+key, 200)
	body := scrape(t, m)
	for _, want := range []string{`engramd_events_total{class="other",outcome="stored"} 1`, `engramd_frames_total{label="other"} 1`} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("scrape lacks %q", want)
		}
	}
	if strings.Contains(body, key) || strings.Contains(body, "BOGUS") {
		t.Error("a value from outside became a label")
	}
}

func TestCountersStartAtZero(t *testing.T) {
	body := scrape(t, New("test"))
	for _, want := range []string{
		`engramd_events_total{class="engram",outcome="stored"} 0`,
		`engramd_gate_decisions_total{decision="restricted",rule="engram",surface="req"} 0`,
		`engramd_slow_readers_cut_total{reason="stalled"} 0`,
		`engramd_query_failures_total{operation="search",reason="timeout"} 0`,
		`engramd_build_info{goversion=`,
		`go_goroutines `,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("scrape lacks %q", want)
		}
	}
}

func TestMethodsCount(t *testing.T) {
	m := New("test")
	m.Sessions.ConnectionOpened()
	m.Sessions.ConnectionOpened()
	m.Sessions.ConnectionClosed()
	m.Sessions.SetConnectionsLimit(10)
	m.Sessions.SubscriptionsAdd(3)
	m.Sessions.SubscriptionsAdd(-1)
	m.Sessions.FrameRefused("filters")
	m.Sessions.ReadPaused()
	m.Sessions.AuthDone(true)
	m.Sessions.AuthDone(false)
	m.Sessions.StoredSent(500)
	m.Sessions.LiveSent(2)
	m.Relay.EventDone("engram", "stored")
	m.Relay.GateDecision("req", "engram", "restricted")
	m.HTTP.HTTPDone("healthz", 200)
	m.HTTP.HTTPDone("healthz", 0)
	m.Store.QueryDone("count", time.Millisecond, "")
	m.Store.QueryDone("count", time.Second, "timeout")
	m.Store.CommitDone(2*time.Millisecond, 40, true)
	m.Store.CommitDone(2*time.Millisecond, 40, false)
	m.Store.Removed("expiry", 7)
	m.Store.QueueAdd("store_writer", 5)
	m.Store.QueueAdd("store_writer", -2)
	m.WatchReady(func() bool { return true })
	m.ReloadDone(false)
	m.Snapshots.SnapshotDone("rollback", "ok", time.Unix(1_700_000_000, 0), 2*time.Second)
	m.Snapshots.SnapshotDone("gc", "busy", time.Unix(1_700_000_000, 0), time.Second)
	m.Outbox.OutboxTried(0, "delivered")
	m.Outbox.OutboxTried(2, "of a key")
	m.WatchOutbox(2, func() []OutboxLag { return []OutboxLag{{}, {}, {Waiting: 3, Oldest: 61}} })
	m.WatchSizes(Sizes{Database: func() int64 { return 4096 }})
	m.Store.ReadWaited("look_up", time.Millisecond)
	m.Store.ReadWaited("of a key", time.Millisecond)
	m.WatchReads(func() Reads { return Reads{Waiting: 3, UnderWay: 4, Yields: 5, Ended: 6} })
	body := scrape(t, m)
	for _, want := range []string{
		"engramd_reads_waiting 3", "engramd_read_connections_lent 4", "engramd_read_yields_total 5", "engramd_reads_ended_total 6",
		`engramd_read_wait_seconds_count{effort="look_up"} 1`, `engramd_read_wait_seconds_count{effort="other"} 1`,
		`engramd_read_wait_seconds_count{effort="scan"} 0`,
		"engramd_connections 1", "engramd_connections_limit 10", "engramd_connections_total 2", "engramd_subscriptions 2",
		`engramd_frames_refused_total{reason="filters"} 1`, "engramd_reads_paused_total 1",
		`engramd_outbox_attempts_total{outcome="delivered",relay="",target="local"} 1`, `engramd_outbox_attempts_total{outcome="other",relay="2",target="remote"} 1`,
		`engramd_outbox_attempts_total{outcome="failed",relay="1",target="remote"} 0`,
		`engramd_outbox_waiting{relay="2",target="remote"} 3`, `engramd_outbox_oldest_seconds{relay="2",target="remote"} 61`, `engramd_outbox_waiting{relay="",target="local"} 0`,
		`engramd_snapshot_operations_total{operation="rollback",outcome="ok"} 1`, `engramd_snapshot_seconds_total{operation="rollback"} 2`,
		`engramd_snapshot_operations_total{operation="gc",outcome="busy"} 1`,
		`engramd_snapshot_last_success_timestamp_seconds{operation="rollback"} 1.7e+09`,
		`engramd_auth_total{outcome="ok"} 1`, `engramd_auth_total{outcome="refused"} 1`,
		`engramd_events_sent_total{source="stored"} 500`, `engramd_events_sent_total{source="live"} 2`,
		`engramd_events_total{class="engram",outcome="stored"} 1`,
		`engramd_gate_decisions_total{decision="restricted",rule="engram",surface="req"} 1`,
		`engramd_http_requests_total{endpoint="healthz",status="2xx"} 1`,
		`engramd_http_requests_total{endpoint="healthz",status="5xx"} 1`,
		`engramd_query_duration_seconds_count{operation="count"} 2`,
		`engramd_query_failures_total{operation="count",reason="timeout"} 1`,
		"engramd_commit_duration_seconds_count 1", "engramd_commit_batch_events_sum 40",
		"engramd_commit_failures_total 1", `engramd_events_removed_total{reason="expiry"} 7`,
		`engramd_queue_depth{queue="store_writer"} 3`, "engramd_ready 1",
		`engramd_config_reloads_total{outcome="refused"} 1`, "engramd_database_bytes 4096", "engramd_wal_bytes 0",
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("scrape lacks %q", want)
		}
	}
}

func TestPprofOnlyByOption(t *testing.T) {
	m := New("test")
	for _, c := range []struct {
		pprof bool
		path  string
		want  int
	}{
		{false, "/metrics", 200}, {false, "/debug/pprof/", 404}, {false, "/debug/pprof/heap", 404},
		{true, "/metrics", 200}, {true, "/debug/pprof/", 200}, {true, "/debug/pprof/heap", 200}, {true, "/", 404},
	} {
		rec := httptest.NewRecorder()
		m.Handler(c.pprof).ServeHTTP(rec, httptest.NewRequest("GET", c.path, nil))
		if rec.Code != c.want {
			t.Errorf("pprof=%v GET %s: %d, want %d", c.pprof, c.path, rec.Code, c.want)
		}
	}
	rec := httptest.NewRecorder()
	m.Handler(false).ServeHTTP(rec, httptest.NewRequest("POST", "/metrics", nil))
	if rec.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /metrics: %d, want 405", rec.Code)
	}
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	srv := httptest.NewServer(m.Handler(false))
	defer srv.Close()
	resp, err := http.Get(srv.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// TestValues: counters and gauges are read by name; what is zero is left out.
func TestValues(t *testing.T) {
	m := New("test")
	m.Sessions.ConnectionRefused("total")
	m.Sessions.ConnectionRefused("total")
	m.Store.QueueAdd("verify", 3)
	got, err := m.Values([]string{"engramd_connections_refused_total", "engramd_queue_depth", "engramd_frames_refused_total", "nothing_like_it"})
	if err != nil || len(got) != 2 || len(got["engramd_connections_refused_total"]) != 1 ||
		got["engramd_connections_refused_total"][0] != (Value{"total", 2}) || got["engramd_queue_depth"][0] != (Value{"verify", 3}) {
		t.Errorf("%v, %v", got, err)
	}
}
