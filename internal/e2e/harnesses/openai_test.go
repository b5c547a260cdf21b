//go:build harness

package harnesses

import (
	"encoding/json"
	"net/http"
)

// responsesAPI and chatAPI are OpenAI's Responses and Chat Completions.
var (
	responsesAPI = api{"responses", "/responses", parseResponses, writeResponses}
	chatAPI      = api{"chat", "/chat/completions", parseChat, writeChat}
)

func parseResponses(body []byte) (request, error) {
	var in struct {
		Stream       bool
		Instructions string
		Tools        []json.RawMessage
		Input        json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{stream: in.Stream, system: in.Instructions}
	for _, raw := range in.Tools {
		r.tools = append(r.tools, spaced(raw)...)
	}
	var items []struct {
		Type, Role      string
		Content, Output json.RawMessage
		CallID          string `json:"call_id"`
		Tools           []json.RawMessage
	}
	if json.Unmarshal(in.Input, &items) != nil {
		r.items = append(r.items, item{role: "user", text: texts(in.Input)})
	}
	for _, it := range items {
		switch it.Type {
		case "function_call_output", "custom_tool_call_output":
			r.items = append(r.items, item{"tool", texts(it.Output), it.CallID})
		case "message", "":
			r.items = append(r.items, item{role: it.Role, text: texts(it.Content)})
		case "additional_tools":
			for _, raw := range it.Tools {
				r.tools = append(r.tools, spaced(raw)...)
			}
		}
	}
	return r, nil
}

// spaced are the tools of an entry, which may be a space of several.
func spaced(raw json.RawMessage) []tool {
	var t struct {
		Type, Name string
		Tools      []json.RawMessage
	}
	_ = json.Unmarshal(raw, &t)
	if t.Type != "namespace" {
		return []tool{named(raw)}
	}
	var all []tool
	rest := len(raw) // what is said of the space itself counts with the first
	for _, raw := range t.Tools {
		one := named(raw)
		one.space = t.Name
		rest -= one.bytes
		all = append(all, one)
	}
	if len(all) > 0 {
		all[0].bytes += rest
	}
	return all
}

func writeResponses(w http.ResponseWriter, r request, a answer) {
	out := m{"type": "message", "id": "msg_" + a.id, "role": "assistant", "status": "completed", "content": []any{m{"type": "output_text", "text": doneText, "annotations": []any{}}}}
	if a.call != nil {
		out = m{"type": "function_call", "id": "fc_" + a.id, "call_id": a.id, "name": a.call.Tool, "arguments": string(a.call.Input), "status": "completed"}
		if a.call.space != "" {
			out["namespace"] = a.call.space
		}
	}
	usage := m{"input_tokens": r.bytes / 4, "output_tokens": 10, "total_tokens": r.bytes/4 + 10, "input_tokens_details": m{"cached_tokens": 0}, "output_tokens_details": m{"reasoning_tokens": 0}}
	response := m{"id": "resp_" + a.id, "object": "response", "created_at": 1, "model": "stand-in", "status": "completed", "output": []any{out}, "usage": usage}
	if !r.stream {
		reply(w, response)
		return
	}
	e := newEvents(w)
	begun := m{"id": "resp_" + a.id, "object": "response", "created_at": 1, "model": "stand-in", "status": "in_progress", "output": []any{}}
	for i, ev := range []m{
		{"type": "response.created", "response": begun},
		{"type": "response.output_item.added", "output_index": 0, "item": out},
		{"type": "response.output_item.done", "output_index": 0, "item": out},
		{"type": "response.completed", "response": response},
	} {
		ev["sequence_number"] = i
		e.send(ev["type"].(string), ev)
	}
}

func parseChat(body []byte) (request, error) {
	var in struct {
		Stream bool
		Tools  []struct{ Function json.RawMessage }
		// A message's text, or its parts.
		Messages []struct {
			Role    string
			Content json.RawMessage
			CallID  string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{stream: in.Stream}
	for _, t := range in.Tools {
		r.tools = append(r.tools, named(t.Function))
	}
	for _, msg := range in.Messages {
		if msg.Role == "system" || msg.Role == "developer" {
			r.system += texts(msg.Content)
			continue
		}
		r.items = append(r.items, item{msg.Role, texts(msg.Content), msg.CallID})
	}
	return r, nil
}

func writeChat(w http.ResponseWriter, r request, a answer) {
	message, reason := m{"role": "assistant", "content": doneText}, "stop"
	if a.call != nil {
		reason = "tool_calls"
		message = m{"role": "assistant", "content": nil, "tool_calls": []any{m{
			"index": 0, "id": a.id, "type": "function",
			"function": m{"name": a.call.Tool, "arguments": string(a.call.Input)},
		}}}
	}
	usage := m{"prompt_tokens": r.bytes / 4, "completion_tokens": 10, "total_tokens": r.bytes/4 + 10}
	out := m{"id": "chat_" + a.id, "created": 1, "model": "stand-in", "usage": usage}
	if !r.stream {
		out["object"], out["choices"] = "chat.completion", []any{m{"index": 0, "message": message, "finish_reason": reason}}
		reply(w, out)
		return
	}
	e := newEvents(w)
	chunk := func(choices ...any) m {
		return m{"id": "chat_" + a.id, "object": "chat.completion.chunk", "created": 1, "model": "stand-in", "choices": choices}
	}
	e.send("", chunk(m{"index": 0, "delta": message, "finish_reason": nil}))
	e.send("", chunk(m{"index": 0, "delta": m{}, "finish_reason": reason}))
	last := chunk()
	last["choices"], last["usage"] = []any{}, usage
	e.send("", last)
	e.send("", "[DONE]")
}
