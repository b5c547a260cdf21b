package main

import (
	"context"
	"io"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/cli/root"
	"engramd/internal/platform/processes"
)

// call calls a tool of an MCP server of the machine, which ends with it. The answer is
// stdout, and the code is
// what a command has for its error.
func (m *machine) call(tool string, args map[string]any) (got hooked) {
	m.t.Helper()
	m.serves(func(session *sdk.ClientSession) {
		res, err := session.CallTool(m.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			m.t.Errorf("%s: %v", tool, err)
			return
		}
		got.stdout = res.Content[0].(*sdk.TextContent).Text
		if code, _, _ := strings.Cut(got.stdout, ":"); res.IsError {
			got.code = map[string]int{"behind": 6, "conflict": 5, "partial": 4, "not_found": 1, "removed": 1}[code]
		}
	})
	return got
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
