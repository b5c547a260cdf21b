package cliutil

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"engramd/internal/cli/exit"
	"engramd/internal/client"
)

func TestReport(t *testing.T) {
	good := client.RelayStatus{URL: "wss://good", Complete: true}
	down := client.RelayStatus{URL: "wss://down", Err: errors.New("connection refused")}
	cut := client.RelayStatus{URL: "wss://cut"}
	liar := client.RelayStatus{URL: "wss://liar", Rejected: 3}
	plain := client.RelayStatus{URL: "wss://plain", Err: client.ErrNoHistory, Complete: true}
	took := client.PublishStatus{URL: "wss://good", Accepted: true}
	refused := client.PublishStatus{URL: "wss://down", Err: errors.New("blocked: quota")}
	const partial = "engramctl: partial answer: not every relay answered in full, there may be more or newer memory\n"
	for _, c := range []struct {
		name   string
		status client.Status
		err    error
		strict bool
		want   string
		code   int
	}{
		{"whole", client.Status{Relays: []client.RelayStatus{good}}, nil, true, "", exit.OK},
		{"one down", client.Status{Relays: []client.RelayStatus{good, down}, Partial: true}, nil, false,
			"engramctl: wss://down failed: connection refused\n" + partial, exit.OK},
		{"one down, strict", client.Status{Relays: []client.RelayStatus{good, down}, Partial: true}, nil, true,
			"engramctl: wss://down failed: connection refused\n" + partial, exit.Relay},
		{"cut", client.Status{Relays: []client.RelayStatus{cut}, Partial: true}, nil, false, "engramctl: wss://cut may have more than it sent\n" + partial, exit.OK},
		{"lies", client.Status{Relays: []client.RelayStatus{liar}, Partial: true}, nil, false,
			"engramctl: wss://liar sent 3 events that are wrong or were not asked for\n" + partial, exit.OK},
		{"no history is no failure", client.Status{Relays: []client.RelayStatus{good, plain}}, nil, true,
			"engramctl: wss://plain keeps no history that it shows: only its current version counts\n", exit.OK},
		{"history that is not asked for", client.Status{Relays: []client.RelayStatus{good, {URL: "wss://listed", Err: client.ErrHistoryUnasked, Complete: true}}}, nil, true,
			"engramctl: wss://listed was not asked for history, because only the agent's list names it: only its current version counts\n", exit.OK},
		{"an error that names the relays is enough", client.Status{Relays: []client.RelayStatus{down}, Partial: true},
			fmt.Errorf("%w: wss://down: connection refused", client.ErrNoRelay), false, "", exit.Relay},
		{"an error that does not", client.Status{Relays: []client.RelayStatus{good, down}, Partial: true},
			&client.ConflictError{Reason: "other"}, false, "engramctl: wss://down failed: connection refused\n", exit.Conflict},
		{"not taken everywhere", client.Status{Relays: []client.RelayStatus{good}, Published: []client.PublishStatus{took, refused}, Partial: true}, nil, false,
			"engramctl: wss://down did not take it: blocked: quota\nengramctl: written to 1 of 2 relays; engramctl sync brings the others up to date\n", exit.OK},
		{"stored, and superseded", client.Status{Published: []client.PublishStatus{refused}, Partial: true, Past: true}, nil, false,
			"engramctl: it was stored, and another version has taken its place since: engramctl mem log shows both\n", exit.OK},
		{"down for everything", client.Status{Relays: []client.RelayStatus{good, down, down}, Published: []client.PublishStatus{took, refused}, Partial: true}, nil, false,
			"engramctl: wss://down failed: connection refused\nengramctl: written to 1 of 2 relays; engramctl sync brings the others up to date\n", exit.OK},
		{"doubtful", client.Status{Relays: []client.RelayStatus{good}, Doubtful: 2}, nil, true,
			"engramctl: 2 events at this place cannot be read and were left out\n", exit.OK},
		{"one doubtful", client.Status{Relays: []client.RelayStatus{good}, Doubtful: 1}, nil, true,
			"engramctl: 1 event at this place cannot be read and was left out\n", exit.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			a := New(&System{Stderr: &stderr})
			a.Flags.Strict = c.strict
			if got := exit.CodeOf(a.Report(c.status, c.err)); got != c.code {
				t.Errorf("exit code %d, want %d", got, c.code)
			}
			if stderr.String() != c.want {
				t.Errorf("printed %q, want %q", &stderr, c.want)
			}
		})
	}
}

func TestTraceIsHarmlessAndShort(t *testing.T) {
	var stderr bytes.Buffer
	a := New(&System{Stderr: &stderr})
	a.Flags.Verbose = true
	trace := a.Trace()
	trace("wss://r", true, []byte("[\"REQ\"]"))
	trace("wss://r", false, []byte("\x1b[2Jx\u202e"))
	if got := stderr.String(); got != "> wss://r [\"REQ\"]\n< wss://r ⟨U+001B⟩[2Jx⟨U+202E⟩\n" {
		t.Errorf("%q", got)
	}
	stderr.Reset()
	trace("wss://r", false, bytes.Repeat([]byte("a"), 3*MaxTrace))
	if stderr.Len() > MaxTrace+100 || !bytes.Contains(stderr.Bytes(), []byte("… (12288 bytes)")) {
		t.Errorf("%d bytes", stderr.Len())
	}
}
