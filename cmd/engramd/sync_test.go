package main

import (
	"testing"

	"engramd/internal/policy"
	"engramd/internal/replica"
)

// TestSyncMissed: a single pass fails when something did not come that the relay
// shows, and not for what concerns that relay alone.
func TestSyncMissed(t *testing.T) {
	elsewhere := map[string]int64{policy.NotAddressed: 1}
	for want, got := range map[string]replica.Status{
		"":                           {State: replica.Waiting, Taken: 3, Refused: map[string]int64{"invalid": 1}, Reasons: elsewhere},
		"1 events were refused":      {State: replica.Waiting, Refused: map[string]int64{"invalid": 2}, Reasons: elsewhere},
		"not all that it names came": {State: replica.Waiting, Incomplete: true, Why: "not all that it names came"},
		"cannot connect":             {State: replica.Failed, Why: "cannot connect", Taken: 3},
	} {
		text := ""
		if err := missed(got); err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%+v: %q, want %q", got, text, want)
		}
	}
	if err := missed(replica.Status{State: replica.Waiting, NoHistory: true, Why: "no history"}); err != nil {
		t.Errorf("without history: %v", err)
	}
}
