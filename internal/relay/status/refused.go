package status

import (
	"slices"
	"strings"
)

// Counters that tell of refusals, and as what they are told.
var refusals = map[string]string{
	"engramd_connections_refused_total":   "connection",
	"engramd_slow_readers_cut_total":      "connection cut off",
	"engramd_reads_paused_total":          "frames too fast",
	"engramd_frames_refused_total":        "frame",
	"engramd_subscriptions_closed_total":  "subscription closed",
	"engramd_gate_decisions_total":        "gate",
	"engramd_auth_total":                  "AUTH",
	"engramd_events_total":                "event",
	"engramd_query_failures_total":        "read",
	"engramd_reads_ended_total":           "read ended for others",
	"engramd_http_refused_total":          "http",
	"engramd_no_room_total":               "no room",
	"engramd_api_refused_total":           "api",
	"engramd_management_refused_total":    "management",
	"engramd_write_program_answers_total": "write program",
}

// mostRefusals bounds how many reasons are told.
const mostRefusals = 50

// refusal reports whether a counter of those above counts what was refused, and
// not what went well.
func refusal(name, labels string) bool {
	words := strings.Fields(labels)
	is := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	switch name {
	case "engramd_gate_decisions_total":
		return is("auth-required", "restricted")
	case "engramd_auth_total":
		return is("refused")
	case "engramd_events_total":
		return is("refused", "failed")
	case "engramd_write_program_answers_total":
		return !is("accept")
	}
	return true
}
