//go:build harness

package harnesses

import (
	"encoding/json"
	"net/http"
)

// messagesAPI is Anthropic's Messages.
var messagesAPI = api{"messages", "/messages", parseMessages, writeMessages}

func parseMessages(body []byte) (request, error) {
	var in struct {
		Stream   bool
		System   json.RawMessage
		Tools    []json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, err
	}
	r := request{stream: in.Stream, system: texts(in.System)}
	for _, raw := range in.Tools {
		r.tools = append(r.tools, named(raw))
	}
	for _, msg := range in.Messages {
		var parts []struct {
			Type, Text string
			ID         string `json:"tool_use_id"`
			Content    json.RawMessage
		}
		if json.Unmarshal(msg.Content, &parts) != nil {
			r.items = append(r.items, item{role: msg.Role, text: texts(msg.Content)})
		}
		for _, p := range parts {
			switch p.Type {
			case "text":
				r.items = append(r.items, item{role: msg.Role, text: p.Text})
			case "tool_result":
				r.items = append(r.items, item{"tool", texts(p.Content), p.ID})
			}
		}
	}
	return r, nil
}

// named reads the name of a tool, and how long it is.
func named(raw json.RawMessage) tool {
	var t struct{ Name string }
	_ = json.Unmarshal(raw, &t)
	return tool{name: t.Name, bytes: len(raw)}
}

func writeMessages(w http.ResponseWriter, r request, a answer) {
	block, delta, reason := m{"type": "text", "text": doneText}, m{"type": "text_delta", "text": doneText}, "end_turn"
	empty := m{"type": "text", "text": ""}
	if a.call != nil {
		reason = "tool_use"
		block = m{"type": "tool_use", "id": "toolu_" + a.id, "name": a.call.Tool, "input": a.call.Input}
		empty = m{"type": "tool_use", "id": "toolu_" + a.id, "name": a.call.Tool, "input": m{}}
		delta = m{"type": "input_json_delta", "partial_json": string(a.call.Input)}
	}
	usage := m{"input_tokens": r.bytes / 4, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	message := m{"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": "stand-in", "content": []any{block}, "stop_reason": reason, "stop_sequence": nil, "usage": usage}
	if !r.stream {
		reply(w, message)
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	e := newEvents(w)
	for _, ev := range []m{
		{"type": "message_start", "message": message},
		{"type": "content_block_start", "index": 0, "content_block": empty},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": m{"stop_reason": reason, "stop_sequence": nil}, "usage": usage},
		{"type": "message_stop"},
	} {
		e.send(ev["type"].(string), ev)
	}
}
