package rig

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// Exported runs `engramd export` and returns the events by id.
func Exported(t *testing.T, relay *relaytest.Child, flags ...string) map[string]*nostr.Event {
	t.Helper()
	r := relay.Run(nil, append([]string{"export", "--data", relay.Data}, flags...)...)
	if r.Code != 0 {
		t.Fatalf("engramd export: exit code %d\n%s", r.Code, r.Stderr)
	}
	return parseJSONL(t, r.Stdout)
}

// Events are some by their ids.
type Events = map[string]*nostr.Event

func parseJSONL(t *testing.T, text []byte) Events {
	t.Helper()
	events, err := ParseEvents(text)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// ParseEvents reads events, one a line, and wants each id once.
func ParseEvents(text []byte) (Events, error) {
	events := Events{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		ev := &nostr.Event{}
		if err := json.Unmarshal(lines.Bytes(), ev); err != nil {
			return nil, fmt.Errorf("exported line %.200q: %w", lines.Bytes(), err)
		}
		if events[ev.ID] != nil {
			return nil, fmt.Errorf("exported twice: %s", lines.Bytes())
		}
		events[ev.ID] = ev
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read export: %w", err)
	}
	return events, nil
}

// JSONL writes events, one a line.
func JSONL(t *testing.T, evs ...*nostr.Event) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, ev := range evs {
		line, err := json.Marshal(ev)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}
