package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// orNull is the type of what may also be null.
var orNull = regexp.MustCompile(`"type":\["null",("[a-z]+")\]`)

// slim leaves out of the listed input schemas that there are no other properties,
// and that some may be null: each call is held to the one, null counts as left out
// (aliased), and both would stand in every context once for each tool.
func slim(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*sdk.ListToolsResult)
		if err != nil || !ok || list == nil {
			return res, err
		}
		out := *list
		out.Tools = make([]*sdk.Tool, len(list.Tools))
		for i, tool := range list.Tools {
			one := *tool
			schema, err := json.Marshal(tool.InputSchema)
			if err != nil {
				return nil, err
			}
			schema = bytes.ReplaceAll(schema, []byte(`"additionalProperties":false,`), nil)
			schema = bytes.ReplaceAll(schema, []byte(`,"additionalProperties":false`), nil)
			schema = orNull.ReplaceAll(schema, []byte(`"type":$1`))
			one.InputSchema = json.RawMessage(schema)
			out.Tools[i] = &one
		}
		return &out, nil
	}
}
