package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/agent/mcp/aside"
)

// aliases are the names that models give to arguments out of habit with other
// tools, by the argument that they mean. No tool's schema shows them. A name
// that is an argument of the tool itself means that.
var aliases = map[string][]string{
	"slug":       {"path", "topic", "key", "identifier", "file_path", "old_path", "old_slug", "from"},
	"text":       {"content", "value", "file_text"},
	"query":      {"q", "search", "text"},
	"old_str":    {"old_string", "old_text", "find_text"},
	"new_str":    {"new_string", "new_text"},
	"to":         {"new_path", "new_slug", "destination"},
	"slugs":      {"slug", "memories"},
	"from":       {"slug"},
	"version":    {"id"},
	"relation":   {"as"},
	"verdict":    {"as"},
	"label":      {"text"},
	"session":    {"id"},
	"plan":       {"plan_id", "id"},
	"operations": {"ops"},
	"limit":      {"n_results", "page_size", "top_k"},
}

// aliased maps the names of arguments, and gives them their types, before the SDK
// validates them. inputs have the arguments of each tool.
func aliased(inputs map[string]reflect.Type) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok {
				return next(ctx, method, req)
			}
			in := inputs[call.Params.Name]
			arguments, err := renamed(argumentNames(in), call.Params.Arguments)
			if err == nil && call.Params.Name == aside.Commit {
				ctx, arguments, err = withOperations(ctx, arguments)
			}
			if err == nil {
				arguments, err = meant(in, arguments)
			}
			if err != nil {
				res := &sdk.CallToolResult{}
				res.SetError(err)
				return res, nil
			}
			call.Params.Arguments = arguments
			return next(ctx, method, req)
		}
	}
}

// renamed returns the arguments with the names that the tool has, and without those that
// are null: models that must name all of them leave one out like that.
// Arguments that need neither are returned byte for byte, whatever they are.
func renamed(properties []string, arguments json.RawMessage) (json.RawMessage, error) {
	var given map[string]json.RawMessage
	if len(properties) == 0 || json.Unmarshal(arguments, &given) != nil {
		return arguments, nil
	}
	before := len(given)
	maps.DeleteFunc(given, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	changed := len(given) < before
	for _, name := range properties {
		for _, alias := range aliases[name] {
			value, ok := given[alias]
			if !ok || slices.Contains(properties, alias) {
				continue
			}
			if other, ok := given[name]; ok && !sameJSON(other, value) {
				return nil, invalidf("%s and %s mean the same here, and differ.", name, alias)
			}
			given[name] = value
			delete(given, alias)
			changed = true
		}
	}
	if !changed {
		return arguments, nil
	}
	return json.Marshal(given)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// argumentNames returns the arguments that a tool's input has, embedded ones
// among them; nil has none.
func argumentNames(in reflect.Type) (names []string) {
	if in == nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(in) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
