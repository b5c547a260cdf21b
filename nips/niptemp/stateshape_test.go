package niptemp

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// stateEvent is a kind-30091 event; empty previous leaves the field out.
func stateEvent(author, to string, previous, status Status, at int64) *nostr.Event {
	content := `{"contract_id":"` + contract + `","status":"` + string(status) + `"`
	if previous != "" {
		content += `,"previous_status":"` + string(previous) + `"`
	}
	return &nostr.Event{
		ID: strings.Repeat("e", 63) + "1", Kind: KindState, PubKey: author, CreatedAt: nostr.Timestamp(at),
		Tags: nostr.Tags{{"d", contract}, {"p", to}}, Content: content + "}",
	}
}

func TestCheckStateShapeAcceptsContent(t *testing.T) {
	tests := []struct{ name, content string }{
		{"least open", `{"contract_id":"` + contract + `","status":"open"}`},
		{"open with previous null", `{"contract_id":"` + contract + `","status":"open","previous_status":null}`},
		{"open with previous empty", `{"contract_id":"` + contract + `","status":"open","previous_status":""}`},
		{"everything", `{"contract_id":"` + contract + `","status":"accepted","previous_status":"open","poster_agent_id":"agent-0000",
			"worker_agent_id":"e4dd4d3eba02","amount_sats":50000,"description":"","transition_at":"2026-05-12T10:11:12.5+02:00"}`},
		{"worker unknown", `{"contract_id":"` + contract + `","status":"open","worker_agent_id":null,"amount_sats":0}`},
		{"unknown fields", `{"contract_id":"` + contract + `","status":"open","note":{"x":1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := stateEvent(posterKey, workerKey, "", Open, 1)
			ev.Content = tt.content
			if err := CheckStateShape(ev); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckStateShapeRefuses(t *testing.T) {
	id := `"contract_id":"` + contract + `"`
	tests := []struct{ name, content, says string }{
		{"sealed", sealed(), "must be a JSON object"},
		{"duplicate", `{` + id + `,"status":"open","status":"cancelled"}`, "twice"},
		{"no contract_id", `{"status":"open"}`, `"contract_id" must be the same`},
		{"other contract_id", `{"contract_id":"other","status":"open"}`, `"contract_id" must be the same`},
		{"contract_id number", `{"contract_id":1,"status":"open"}`, `"contract_id" must be a string`},
		{"no status", `{` + id + `}`, `"status" is not`},
		{"unknown status", `{` + id + `,"status":"done"}`, `"status" is not`},
		{"status in other case", `{` + id + `,"status":"Open"}`, `"status" is not`},
		{"status number", `{` + id + `,"status":1}`, `"status" must be a string`},
		{"no previous_status", `{` + id + `,"status":"accepted"}`, `"previous_status" is not`},
		{"previous_status null", `{` + id + `,"status":"accepted","previous_status":null}`, `"previous_status" is not`},
		{"unknown previous_status", `{` + id + `,"status":"open","previous_status":"draft"}`, `"previous_status" is not`},
		{"previous_status number", `{` + id + `,"status":"open","previous_status":1}`, `"previous_status" must be a string`},
		{"amount negative", `{` + id + `,"status":"open","amount_sats":-1}`, `"amount_sats"`},
		{"amount fraction", `{` + id + `,"status":"open","amount_sats":1.5}`, `"amount_sats"`},
		{"amount exponent", `{` + id + `,"status":"open","amount_sats":1e3}`, `"amount_sats"`},
		{"amount string", `{` + id + `,"status":"open","amount_sats":"1"}`, `"amount_sats"`},
		{"amount too great", `{` + id + `,"status":"open","amount_sats":9223372036854775808}`, `"amount_sats"`},
		{"amount null", `{` + id + `,"status":"open","amount_sats":null}`, `"amount_sats"`},
		{"time no RFC 3339", `{` + id + `,"status":"open","transition_at":"yesterday"}`, `"transition_at"`},
		{"time a number", `{` + id + `,"status":"open","transition_at":1}`, `"transition_at"`},
		{"poster_agent_id null", `{` + id + `,"status":"open","poster_agent_id":null}`, `"poster_agent_id"`},
		{"worker_agent_id number", `{` + id + `,"status":"open","worker_agent_id":1}`, `"worker_agent_id"`},
		{"description number", `{` + id + `,"status":"open","description":1}`, `"description"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := stateEvent(posterKey, workerKey, "", Open, 1)
			ev.Content = tt.content
			checkRefusal(t, CheckStateShape(ev), "invalid", tt.says)
		})
	}
}

func TestCheckStateShapeTags(t *testing.T) {
	for _, tt := range []struct {
		says string
		tags nostr.Tags
	}{
		{"exactly one d", nostr.Tags{{"p", workerKey}}},
		{"exactly one d", nostr.Tags{{"d", contract}, {"d"}, {"p", workerKey}}},
		{"exactly one p", nostr.Tags{{"d", contract}}},
		{"signed by neither", nostr.Tags{{"d", contract}, {"p", workerKey}, {"p", posterKey}}},
		{"from disputed to completed", nostr.Tags{{"d", contract}, {"p", workerKey}, {"p", strangerKey}}},
		{"two for a decision", nostr.Tags{{"d", contract}, {"p", workerKey}, {"p", posterKey}, {"p", strangerKey}}},
		{"64 lower-case hex", nostr.Tags{{"d", contract}, {"p"}}},
		{"printable ASCII", nostr.Tags{{"d", contract + " "}, {"p", workerKey}}},
	} {
		ev := stateEvent(posterKey, workerKey, "", Open, 1)
		ev.Tags = tt.tags
		checkRefusal(t, CheckStateShape(ev), "invalid", tt.says)
	}
	ev := stateEvent(posterKey, workerKey, "", Open, 1)
	ev.Kind = KindEntry
	checkRefusal(t, CheckStateShape(ev), "invalid", "kind 30090")
}

func FuzzCheckStateShape(f *testing.F) {
	f.Add(`{"contract_id":"c","status":"open"}`, "c")
	f.Add(`{"contract_id":"c","status":"accepted","previous_status":"open","amount_sats":1,"transition_at":"2026-01-01T00:00:00Z"}`, "c")
	f.Fuzz(func(t *testing.T, content, d string) {
		ev := stateEvent(posterKey, workerKey, "", Open, 1)
		ev.Content, ev.Tags[0][1] = content, d
		if CheckStateShape(ev) != nil {
			return
		}
		p, err := StepOf(ev)
		f, ok := Fold(posterKey, workerKey, "", []Step{p})
		if err != nil || !ok || !f.State.Status.Valid() || f.State.Contract != d {
			t.Fatalf("%q led to %+v, %v", content, f, err)
		}
	})
}
