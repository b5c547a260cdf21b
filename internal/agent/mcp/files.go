package mcp

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/client"
	"engramd/internal/memory/anthropicfiles"
)

// Files says how the memory is offered as files.
type Files int

// The ways.
const (
	NoFiles     Files = iota // not at all
	FilesBeside              // beside the other tools
	FilesAlone               // instead of them, of the resources and of the prompts
)

// filesTool is the memory tool of Anthropic's API (memory_20250818), with the
// arguments and the answers of its SDK.
const filesTool = "memory"

type filesIn struct {
	Command    string  `json:"command"`
	Path       *string `json:"path"`
	ViewRange  []int   `json:"view_range"`
	FileText   *string `json:"file_text"`
	OldStr     *string `json:"old_str"`
	NewStr     *string `json:"new_str"`
	InsertLine *int    `json:"insert_line"`
	InsertText *string `json:"insert_text"`
	OldPath    *string `json:"old_path"`
	NewPath    *string `json:"new_path"`
}

var filesSchema = json.RawMessage(`{"type":"object","required":["command"],"additionalProperties":false,"properties":{
"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"],"description":"what to do"},
"path":{"type":"string","description":"of all but rename: /memories, or what is in it, such as /memories/people/ana.md"},
"view_range":{"type":"array","items":{"type":"integer"},"description":"of view, for a file: the first and the last line, -1 for the end"},
"file_text":{"type":"string","description":"of create: the whole text"},
"old_str":{"type":"string","description":"of str_replace: exactly as it stands there, once"},
"new_str":{"type":"string","description":"of str_replace: what stands there then"},
"insert_line":{"type":"integer","description":"of insert: the line after which the text goes, 0 for the top"},
"insert_text":{"type":"string","description":"of insert: the text"},
"old_path":{"type":"string","description":"of rename: a file or a directory"},
"new_path":{"type":"string","description":"of rename: where nothing is yet"}}}`)

// said is an answer of the tool: the SDK's text, and how far it can be trusted.
type said struct {
	text string
	answer
}

// fileTools are the memory as files.
type fileTools struct{ m *memories }

func (s *Server) addFiles() {
	t := &fileTools{s.memories}
	s.arguments[filesTool] = argumentNames(reflect.TypeFor[filesIn]())
	e := effectDestroy
	if s.memories.readOnly {
		e = effectNone
	}
	tool := &sdk.Tool{Name: filesTool, Title: "Memory files", Annotations: annotated(e), Description: describeFiles, InputSchema: filesSchema}
	sdk.AddTool(s.sdk, tool, func(ctx context.Context, req *sdk.CallToolRequest, in filesIn) (*sdk.CallToolResult, any, error) {
		ctx = withCaller(ctx, req.ClientInfo())
		out, err := called(ctx, s.calls, filesTool, func(ctx context.Context) (said, error) {
			out, err := t.file(ctx, in)
			if err != nil {
				err = t.fileFailure(in, err)
			}
			return out, err
		})
		if err != nil {
			return nil, nil, err
		}
		res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: out.text}}}
		if note := out.note(); note != "" {
			res.Content = append(res.Content, &sdk.TextContent{Text: note})
		}
		return res, nil, nil
	})
}

// note is what the SDK's texts have no place for.
func (out said) note() string {
	lines := out.Warnings
	if out.Partial {
		lines = append([]string{"not every relay answered: what is missing here may exist, and what is here may be old"}, lines...)
	}
	if len(lines) == 0 {
		return ""
	}
	return "(" + strings.Join(lines, "; ") + ")"
}

// file runs a command.
func (s *fileTools) file(ctx context.Context, in filesIn) (said, error) {
	needs := map[string][]struct {
		name  string
		given bool
	}{
		"view":        {{"path", in.Path != nil}},
		"create":      {{"path", in.Path != nil}, {"file_text", in.FileText != nil}},
		"str_replace": {{"path", in.Path != nil}, {"old_str", in.OldStr != nil}, {"new_str", in.NewStr != nil}},
		"insert":      {{"path", in.Path != nil}, {"insert_line", in.InsertLine != nil}, {"insert_text", in.InsertText != nil}},
		"delete":      {{"path", in.Path != nil}},
		"rename":      {{"old_path", in.OldPath != nil}, {"new_path", in.NewPath != nil}},
	}[in.Command]
	for _, n := range needs {
		if !n.given {
			return said{}, invalidf("the command %s needs %s.", in.Command, n.name)
		}
	}
	if in.Command != "view" && s.m.readOnly {
		return said{}, client.ErrReadOnly
	}
	switch in.Command {
	case "view":
		return s.viewFile(ctx, *in.Path, in.ViewRange)
	case "create":
		return s.createFile(ctx, *in.Path, *in.FileText)
	case "str_replace":
		return s.changeFile(ctx, *in.Path, func(p anthropicfiles.Path, body string) (string, string, string, error) {
			changed, answer, err := anthropicfiles.Replace(p, body, *in.OldStr, *in.NewStr)
			return changed, *in.NewStr, answer, err
		})
	case "insert":
		return s.changeFile(ctx, *in.Path, func(p anthropicfiles.Path, body string) (string, string, string, error) {
			changed, err := anthropicfiles.Insert(body, *in.InsertLine, *in.InsertText)
			return changed, *in.InsertText, anthropicfiles.Inserted(p), err
		})
	case "delete":
		return s.deleteFile(ctx, *in.Path)
	}
	return s.renameFile(ctx, *in.OldPath, *in.NewPath)
}
