package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/cli/root"
	"engramd/internal/platform/processes"
)

// call calls a tool of an MCP server of the machine, which ends with it.
func (m *machine) call(tool string, args map[string]any) (got hooked) {
	m.t.Helper()
	m.serves(func(session *sdk.ClientSession) { got = toolOf(m.t, session, tool, args) })
	return got
}

// toolOf calls a tool. Its answer is what is printed, and its error has the code that a
// command has for it.
func toolOf(t *testing.T, session *sdk.ClientSession, tool string, args map[string]any) (got hooked) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Errorf("%s: %v", tool, err)
		return got
	}
	got.stdout = res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		got.code = codeOf(got.stdout)
	}
	return got
}

func codeOf(failure string) int {
	code, _, _ := strings.Cut(failure, ":")
	return map[string]int{"behind": 6, "conflict": 5, "partial": 4, "not_found": 1, "removed": 1}[code]
}

// toolQuestion is a tool, a resource or a prompt that reads, and how it ends; "" is well.
type toolQuestion struct {
	tool  string // or the resource's URI, or the prompt's name
	args  map[string]any
	wrong func(c lostCell, got hooked) string
}

var toolReads = []toolQuestion{
	{"memory_read", map[string]any{"slug": "notes"}, text(1)},
	{"memory_read", map[string]any{"slug": "core"}, coreTool},
	{"memory_list", nil, mcpListed},
	{"memory_search", map[string]any{"query": "gate"}, mcpRecalled},
	{"memory_recall", map[string]any{"query": "the gate"}, mcpRecalled},
	{"memory_history", map[string]any{"slug": "notes"}, logged},
	{"memory_stats", nil, told},
	{"memory_snapshot", nil, kept},
	{"engram://mem/notes", nil, text(1)},
	{"engram://core", nil, coreTool},
	{"core", nil, corePrompt},
}

// of asks a question of a server. What is said beside an answer is in it. What is
// answered at once, from a copy as it was before the server looked at the relays, is asked
// again.
func (q toolQuestion) of(t *testing.T, session *sdk.ClientSession, since time.Time) (got hooked) {
	t.Helper()
	for got = q.once(t, session); t.Context().Err() == nil && asOf(got.stdout).Before(since); {
		got = q.once(t, session)
	}
	return got
}

// asOf is when relays had confirmed what an answer was made from; without one it is now.
func asOf(answer string) time.Time {
	var a struct {
		AsOf time.Time `json:"as_of"`
	}
	if json.Unmarshal([]byte(answer), &a) != nil || !strings.Contains(answer, `"as_of"`) {
		return time.Now()
	}
	return a.AsOf
}

func (q toolQuestion) once(t *testing.T, session *sdk.ClientSession) (got hooked) {
	t.Helper()
	switch {
	case strings.HasPrefix(q.tool, "engram://"):
		res, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: q.tool})
		if err == nil {
			got.stdout = res.Contents[0].Text
			if behind, _ := res.Contents[0].Meta["engramd/behind"].(bool); behind {
				got.stdout += lineSaid
			}
		}
		got = got.failed(err)
	case q.tool == "core":
		res, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: q.tool})
		if err == nil {
			got.stdout = res.Messages[0].Content.(*sdk.TextContent).Text
		}
		got = got.failed(err)
	default:
		got = toolOf(t, session, q.tool, q.args)
	}
	got.stderr = got.stdout
	return got
}

// failed is the end with an error.
func (h hooked) failed(err error) hooked {
	if err != nil {
		_, h.stdout, _ = strings.Cut(err.Error(), `": `)
		h.code = codeOf(h.stdout)
	}
	return h
}

func coreTool(c lostCell, got hooked) string {
	if c.unaccounted() {
		if !strings.Contains(got.stdout, "no core is shown; this agent has written") && !strings.Contains(got.stdout, "There is no core profile yet") {
			return "it says neither that no core is shown, nor that its deletion was found"
		}
		return ""
	}
	return text(1)(c, got)
}

// corePrompt says in the text that there is none.
func corePrompt(c lostCell, got hooked) string {
	if c.answer() == nothing && !c.unaccounted() {
		got.code = map[bool]int{true: 1}[strings.Contains(got.stdout, "There is no core profile yet")]
	}
	return coreTool(c, got)
}

func mcpListed(c lostCell, got hooked) string {
	if got.code == 6 && c.answer() == withheld && c.there() == nothing {
		return c.line(got, "") // the relays were asked, and not the copy
	}
	if has := strings.Contains(got.stdout, "mem/notes"); got.code != 0 || has != (c.there() != nothing) {
		return fmt.Sprintf("code %d, listed: %v", got.code, has)
	}
	return c.line(got, "")
}

func mcpRecalled(c lostCell, got hooked) string { return c.line(got, ends(got, 0, word(c.there()))) }

// TestBehindTools is TestBehind for an MCP server.
func TestBehindTools(t *testing.T) {
	t.Parallel()
	l := newLostTable(t, "mem/notes")
	l.cells(t, func(t *testing.T, c lostCell, m *machine) {
		began := time.Now().Truncate(time.Second)
		m.serves(func(session *sdk.ClientSession) {
			for i := range toolReads {
				q := toolReads[(i+len(c.String()))%len(toolReads)] // another one is the first
				if got := q.of(t, session, began); q.wrong(c, got) != "" {
					t.Errorf("%v: %s %v: %s: %d %s", c, q.tool, q.args, q.wrong(c, got), got.code, got.stdout)
				}
			}
		})
	})
}

// serves has a client speak to an MCP server of the machine.
func (m *machine) serves(do func(*sdk.ClientSession)) {
	m.t.Helper()
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	stderr := &transcript{}
	main := &root.Main{Args: []string{"mcp"}, Env: slices.Clone(m.env), Dir: m.folder, Stdin: stdin, Stdout: stdout, Stderr: stderr, Slack: slack,
		Ancestors: func() []processes.Process { return m.above }}
	ended := make(chan int, 1)
	go func() {
		code := main.Run(context.Background())
		stdout.Close()
		ended <- code
	}()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(m.t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, nil)
	if err == nil {
		do(session)
		session.Close()
	}
	in.Close()
	if code := <-ended; code != 0 || err != nil {
		m.t.Errorf("mcp: exit code %d, %v: %s", code, err, stderr)
	}
}
