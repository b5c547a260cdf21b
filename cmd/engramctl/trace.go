package main

import (
	"fmt"

	"engramd/internal/client"
)

// maxTrace is how many bytes of a frame --verbose shows.
const maxTrace = 4 << 10

// trace returns what --verbose makes of the wire: ">" is what we send. Texts on
// it are encrypted, and no secret key is ever sent.
func (e *Env) trace() client.Trace {
	if !e.flags.verbose {
		return e.progress.trace
	}
	return func(relay string, sent bool, frame []byte) {
		direction := "<"
		if sent {
			direction = ">"
		}
		text, rest := frame, ""
		if len(frame) > maxTrace {
			text, rest = frame[:maxTrace], fmt.Sprintf("… (%d bytes)", len(frame))
		}
		fmt.Fprintf(e.Stderr, "%s %s %s%s\n", direction, relay, harmless(string(text)), rest)
	}
}
