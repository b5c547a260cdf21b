package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/clock"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/status"
	"engramd/internal/relay/store"
	"engramd/internal/relay/websocket"
)

// parts answers what a report asks of the daemon's parts.
type parts struct {
	fails error
	asked int // how much of each list
}

func (p *parts) Status(top int) websocket.Status {
	p.asked = top
	return websocket.Status{Connections: 0}
}

func (p *parts) Undelivered() int { return 3 }

func (p *parts) Space(context.Context) (store.Space, error) {
	return store.Space{Database: 4096, Free: 1024, WAL: 10, Max: 8192}, p.fails
}

func (p *parts) Recent(int) store.Recent {
	return store.Recent{Commits: 2, P50: time.Millisecond, P99: 2 * time.Millisecond, Max: 3 * time.Millisecond}
}

func (p *parts) Values([]string) (map[string][]metrics.Value, error) {
	return map[string][]metrics.Value{
		"engramd_events_total":          {{Labels: "open stored", Value: 9}, {Labels: "open refused", Value: 4}},
		"engramd_gate_decisions_total":  {{Labels: "req engram granted", Value: 7}, {Labels: "req engram auth-required", Value: 5}},
		"engramd_queue_depth":           {{Labels: "writer", Value: 2}},
		"engramd_outbox_waiting":        {{Labels: "0", Value: 1}, {Labels: "1", Value: 1}},
		"engramd_outbox_oldest_seconds": {{Labels: "0", Value: 60}, {Labels: "1", Value: 2}},
	}, nil
}

func sources(p *parts) *status.Sources {
	return &status.Sources{
		Version: "v1", Started: time.Now(), Clock: func() clock.Status { return clock.Status{Hours: 3, Needed: 24} }, Ready: func(context.Context) error { return errors.New("the disk is full") },
		Disk: func() int64 { return 2048 }, Sessions: p.Status, Undelivered: p.Undelivered, Space: p.Space, Recent: p.Recent, Metrics: p.Values,
	}
}

// TestReport: refusals are told, the most frequent first, and what went well is
// not.
func TestReport(t *testing.T) {
	p := &parts{}
	r, err := sources(p).Report(t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if p.asked != status.MostTop {
		t.Errorf("%d of each list were asked for", p.asked)
	}
	if len(r.Refused) != 2 || r.Refused[0] != (status.Refused{What: "gate", Reason: "req engram auth-required", Count: 5}) ||
		r.Refused[1] != (status.Refused{What: "event", Reason: "open refused", Count: 4}) {
		t.Errorf("refused %+v", r.Refused)
	}
	if r.Outbox != (status.Outbox{Waiting: 2, Oldest: 60}) || r.Slow.Queues["writer"] != 2 || r.Slow.Live != 3 {
		t.Errorf("%+v", r)
	}
	var text strings.Builder
	if err := r.WriteText(&text, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NOT READY: the disk is full", "4.0 KiB, of which 1.0 KiB are free", "38 % in use", "2 deliveries wait, the oldest for 1m0s", "gate  req engram auth-required  5", "clock NOT CONFIRMED", "3 hours of 24"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
	if strings.Contains(text.String(), "open refused") {
		t.Errorf("the text has more refusals than it should:\n%s", &text)
	}
}

// TestReportOfAFailure: a store that cannot be asked is an error, not an empty
// report.
func TestReportOfAFailure(t *testing.T) {
	fails := errors.New("closed")
	if r, err := sources(&parts{fails: fails}).Report(t.Context(), 1); !errors.Is(err, fails) || r != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
