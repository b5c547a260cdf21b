package cliutil

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"engramd/internal/client"
	"engramd/nips/frontmatter"
)

// Stamp returns a time for people and for --at.
func Stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// PrintJSON writes one indented object.
func (e *Env) PrintJSON(v any) error {
	enc := json.NewEncoder(e.Out())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Show prints a value if JSON is asked for, and else a text.
func (e *Env) Show(v any, format string, args ...any) error {
	if e.Flags.JSON {
		return e.PrintJSON(v)
	}
	return e.Print(format, args...)
}

// Each prints a line for each of several things.
func Each[T any](e *Env, all []T, line func(T) string) error {
	for _, one := range all {
		if err := e.Print("%s\n", line(one)); err != nil {
			return err
		}
	}
	return nil
}

// PrintText writes a remembered text: as it is, so that what comes out is what
// went in, byte for byte; only on a terminal as [Harmless] has it, and with the end of its
// last line.
func (e *Env) PrintText(text string) error {
	if e.Terminal.Stdout {
		text = Harmless(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	}
	return e.Print("%s", text)
}

// Harmless shows by their numbers the characters of a text that could make a terminal do
// things, and those that nobody would see.
func Harmless(text string) string {
	return frontmatter.Shown(strings.ToValidUTF8(text, "\uFFFD"))
}

// Counted returns a number of things in words.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Note tells the person on stderr something that is no error.
func (e *Env) Note(format string, args ...any) {
	fmt.Fprintf(e.Err(), "engramctl: %s\n", fmt.Sprintf(format, args...))
}

// Print writes to stdout.
func (e *Env) Print(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Out(), format, args...)
	return err
}

// Out returns stdout once no progress bar is in the way.
func (e *Env) Out() io.Writer {
	e.Err()
	return onTerminal(e.Stdout, e.Terminal.Stdout)
}

// Err returns stderr once no progress bar is in the way.
func (e *Env) Err() io.Writer {
	if e.HideBar != nil {
		e.HideBar()
		e.HideBar = nil
	}
	return onTerminal(e.Stderr, e.Terminal.Stderr)
}

// harmless writes to a terminal, whatever a command prints, as [Harmless] has it: none of
// them has to think of it. Each write holds whole characters.
type harmless struct{ w io.Writer }

func onTerminal(w io.Writer, is bool) io.Writer {
	if is {
		return harmless{w}
	}
	return w
}

func (h harmless) Write(b []byte) (int, error) {
	if _, err := io.WriteString(h.w, Harmless(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// OneLine makes somebody else's text fit for a table.
func OneLine(text string, most int) string {
	text = strings.Join(strings.Fields(Plain(text)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// Plain returns a text of somebody else for people to read, with line ends of one sort.
func Plain(text string) string { return Harmless(strings.ReplaceAll(text, "\r\n", "\n")) }

// Indented is somebody else's text with every line indented: none of them can
// be taken for a line of ours.
func Indented(text string) string {
	if text == "" {
		return ""
	}
	out := ""
	for l := range strings.SplitSeq(strings.TrimRight(Plain(text), "\n"), "\n") {
		out += "    " + l + "\n"
	}
	return out
}

// ShortID is how many digits of an id a table shows; 8 or more name a version.
const ShortID = 16

// NoteLine is Note of a line as it is.
func (e *Env) NoteLine(line string) { e.Note("%s", line) }

// AsOf says by which times a state of the past was put together, and of how
// many memories nothing can be told.
func AsOf(past time.Time, unknown int) string {
	text := fmt.Sprintf("as of %s, by the times that versions bear (created_at)", past.UTC().Format(time.RFC3339))
	if unknown == 0 {
		return text
	}
	return text + "; " + Counted(unknown, "memory of now has", "memories of now have") + " no version of then that the relays keep"
}

// shutter is a writer that can be closed for good while others hold it.
type shutter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewShutter returns a shutter over w.
func NewShutter(w io.Writer) *shutter { return &shutter{w: w} }

// Write passes b on, unless the shutter is shut.
func (s *shutter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return len(b), nil
	}
	return s.w.Write(b)
}

func (s *shutter) Shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
}

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
