package cliutil

import (
	"fmt"

	"engramd/internal/client"
)

// MaxTrace is how many bytes of a frame --verbose shows.
const MaxTrace = 4 << 10

// Trace returns what --verbose makes of the wire: ">" is what we send. Texts on
// it are encrypted, and no secret key is ever sent.
func (e *Env) Trace() client.Trace {
	if !e.Flags.Verbose {
		return e.Progress.Trace
	}
	return func(relay string, sent bool, frame []byte) {
		direction := "<"
		if sent {
			direction = ">"
		}
		text, rest := frame, ""
		if len(frame) > MaxTrace {
			text, rest = frame[:MaxTrace], fmt.Sprintf("… (%d bytes)", len(frame))
		}
		fmt.Fprintf(e.Stderr, "%s %s %s%s\n", direction, relay, Harmless(string(text)), rest)
	}
}
