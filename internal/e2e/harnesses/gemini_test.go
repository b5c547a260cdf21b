//go:build harness

package harnesses

import (
	"encoding/json"
	"net/http"
	"strings"
)

// geminiAPI is generateContent and streamGenerateContent of Google.
var geminiAPI = api{"gemini", "enerateContent", parseGemini, writeGemini}

func parseGemini(body []byte) (request, error) {
	type content struct {
		Role  string
		Parts []struct {
			Text             string
			FunctionResponse *struct{ Response json.RawMessage }
		}
	}
	var in struct {
		SystemInstruction content
		Contents          []content
		Tools             []struct{ FunctionDeclarations []json.RawMessage }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	var r request
	for _, p := range in.SystemInstruction.Parts {
		r.system += p.Text
	}
	for _, t := range in.Tools {
		for _, raw := range t.FunctionDeclarations {
			r.tools = append(r.tools, named(raw))
		}
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				r.items = append(r.items, item{role: "tool", text: string(p.FunctionResponse.Response)})
			} else if p.Text != "" {
				r.items = append(r.items, item{role: strings.Replace(c.Role, "model", "assistant", 1), text: p.Text})
			}
		}
	}
	return r, nil
}

func writeGemini(w http.ResponseWriter, r request, a answer) {
	part := m{"text": doneText}
	if a.call != nil {
		part = m{"functionCall": m{"name": a.call.Tool, "args": a.call.Input}}
	}
	out := m{
		"candidates":    []any{m{"index": 0, "finishReason": "STOP", "content": m{"role": "model", "parts": []any{part}}}},
		"usageMetadata": m{"promptTokenCount": r.bytes / 4, "candidatesTokenCount": 10, "totalTokenCount": r.bytes/4 + 10},
		"modelVersion":  "stand-in",
	}
	if r.stream {
		newEvents(w).send("", out)
		return
	}
	reply(w, out)
}
