package plugin

import (
	"bufio"
	"errors"
	"io"
	"log/slog"

	"golang.org/x/time/rate"

	"engramd/internal/relay/logging/redact"
)

const (
	maxComplaint    = 4 << 10 // bytes of a line
	complaintsRate  = 5       // lines per second
	complaintsBurst = 50
)

// logLines logs what a process says on standard error, at a rate: the start of
// each line, without keys and ids.
func logLines(from io.Reader, log *slog.Logger, lines *rate.Limiter) {
	in := bufio.NewReaderSize(from, maxComplaint)
	dropped := 0
	for {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of it is nobody's loss
			_, err = in.ReadSlice('\n')
		}
		switch text := redact.Plain(string(line)); {
		case len(line) <= 1:
		case lines.Allow():
			attrs := []any{"text", text}
			if dropped > 0 {
				attrs = append(attrs, "dropped", dropped)
				dropped = 0
			}
			log.Warn("the write policy program says", attrs...)
		default:
			dropped++
		}
		if err != nil {
			return
		}
	}
}
