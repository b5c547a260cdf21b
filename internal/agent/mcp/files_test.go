package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/relay/http/bridgetest"
)

// fileCall runs a command and returns the blocks of its answer.
func (p peer) fileCall(a args) (texts []string, failed bool) {
	p.t.Helper()
	res, err := p.CallTool(p.t.Context(), callOf(filesTool, a))
	if err != nil {
		p.t.Fatalf("%v: protocol error: %v", a, err)
	}
	for _, c := range res.Content {
		texts = append(texts, text(&sdk.CallToolResult{Content: []sdk.Content{c}}))
	}
	if res.StructuredContent != nil {
		p.t.Errorf("%v: the answer is text, and has %v", a, res.StructuredContent)
	}
	return texts, res.IsError
}

// file runs a command that must succeed, and returns its answer.
func (p peer) file(a args) string {
	p.t.Helper()
	texts, failed := p.fileCall(a)
	if failed {
		p.t.Fatalf("%v: %s", a, texts)
	}
	return strings.Join(texts, "\n")
}

// noFile runs a command that must fail.
func (p peer) noFile(a args) (Failure, string) {
	p.t.Helper()
	return p.refused(filesTool, a)
}

// TestFilesSayWhatTheSDKSays: every answer and every refusal equals, byte for
// byte, that of anthropic-sdk-python's own tool over a folder
// (testdata/files_golden.py).
func TestFilesSayWhatTheSDKSays(t *testing.T) {
	golden, err := os.ReadFile("testdata/files.golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]Memory{"map": newFake(), "relay": agentAt(t, bridgetest.Start(t).URL)} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, newServer(options{Memory: m, Files: FilesAlone}))
			script, err := os.Open("testdata/files.script.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			defer script.Close()
			rest := string(golden)
			for lines := bufio.NewScanner(script); lines.Scan(); {
				var a args
				if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				texts, failed := p.fileCall(a)
				got.WriteString("> " + lines.Text() + "\n")
				if failed {
					got.WriteString("error: ")
				}
				got.WriteString(strings.Join(texts, "\n") + "\n")
				var ok bool
				if rest, ok = strings.CutPrefix(rest, got.String()); !ok {
					t.Fatalf("got\n%swant\n%s", got.String(), rest[:min(len(rest), 600)])
				}
			}
			if rest != "" {
				t.Errorf("not asked: %s", rest)
			}
		})
	}
}
