//go:build harness

package harnesses

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// scriptMark stands before the script of a session in the user's prompt: a JSON list
// of calls. The stand-in gives them one after the other, then says that it is done.
const scriptMark = "SCRIPT:"

// maxRequest bounds what is read of a request, in bytes.
const maxRequest = 32 << 20

// call is one use of a tool. Its name is the one that the memory's server gives it;
// harnesses put theirs before it.
type call struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`

	space string // of the tool, where the API has one
}

// item is one thing that a request says, in order: text of a role, or a tool's result.
type item struct {
	role string // "user", "assistant", "developer", …; "tool" for a result
	text string
	id   string // of the call that it is the result of, where the API has one
}

type tool struct {
	name  string
	space string
	bytes int
}

// request is what all the APIs' requests have.
type request struct {
	api    string
	stream bool
	system string
	tools  []tool
	items  []item
	bytes  int
	body   string
}

// answer is what the stand-in's model says: a call, or that it is done.
type answer struct {
	call *call
	id   string
}

const doneText = "Done."

// api is the form of one model's API.
type api struct {
	name  string
	path  string // that the request's path holds
	parse func([]byte) (request, error)
	write func(w http.ResponseWriter, r request, a answer)
}

// standin is the model of a harness, and the proxy for everything else that it asks for.
type standin struct {
	URL string

	mu    sync.Mutex
	all   []request
	other []string // what else was asked for, without an answer
}

func newStandin(t *testing.T) *standin {
	t.Helper()
	s := &standin{}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.URL = srv.URL
	return s
}

func (s *standin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return
	}
	for _, a := range []api{messagesAPI, responsesAPI, chatAPI, geminiAPI} {
		if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, a.path) || strings.Contains(r.URL.Path, "count") {
			continue
		}
		in, err := a.parse(body)
		if err != nil {
			s.note("%s %s: %v", r.Method, r.URL.Path, err)
			http.Error(w, "not understood", http.StatusBadRequest)
			return
		}
		in.api, in.bytes, in.body = a.name, len(body), string(body)
		in.stream = in.stream || strings.Contains(r.URL.Path, ":stream")
		s.mu.Lock()
		s.all = append(s.all, in)
		s.mu.Unlock()
		a.write(w, in, in.next())
		return
	}
	s.note("%s %s%s", r.Method, r.Host, r.URL.Path)
	if r.Method == http.MethodConnect {
		http.Error(w, "there is no network", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(r.URL.Path, "count") {
		fmt.Fprintf(w, `{"input_tokens":%d,"totalTokens":%d}`, len(body)/4, len(body)/4)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/models") {
		io.WriteString(w, `{"object":"list","models":[],"data":[{"id":"stand-in","object":"model"}]}`)
		return
	}
	http.Error(w, `{"error":{"message":"there is nothing here"}}`, http.StatusNotFound)
}

func (s *standin) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.other = append(s.other, fmt.Sprintf(format, args...))
}

// take returns what was recorded since the last time.
func (s *standin) take() (all []request, other []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, other, s.all, s.other = s.all, s.other, nil, nil
	return all, other
}

// next is the step of the script that stands in the last prompt with one: as many are
// done as results came after it. A tool that the request does not offer ends it; one that
// it names only is looked for first.
func (r request) next() answer {
	var script []call
	done, found := 0, false
	for _, it := range r.items {
		_, text, begins := strings.Cut(it.text, scriptMark)
		switch {
		case it.role == "tool" && strings.Contains(it.id, findMark):
			found = true
		case it.role == "tool":
			done, found = done+1, false
		case begins && it.role == "user":
			var calls []call
			if json.NewDecoder(strings.NewReader(text)).Decode(&calls) == nil {
				script, done, found = calls, 0, false
			}
		}
	}
	if done >= len(script) {
		return answer{}
	}
	c, id := script[done], fmt.Sprintf("call_%d", len(r.items))
	search, through := "", ""
	for _, t := range r.tools {
		if t.ours() && t.own() == c.Tool {
			c.Tool, c.space = t.name, t.space
			return answer{&c, id}
		}
		switch t.name {
		case "ToolSearch", "tool_search":
			search = t.name
		case "tool_call":
			through = t.name
		}
	}
	name := regexp.MustCompile(`\bmcp__engram[\w-]*__` + c.Tool + `\b`).FindString(r.said())
	switch {
	case search == "" || name == "":
		return answer{}
	case !found:
		return answer{&call{Tool: search, Input: json.RawMessage(encode(m{"query": "select:" + name}))}, findMark + id}
	}
	c.Tool = name
	if through != "" { // Qwen Code runs a tool that was looked for by another
		c = call{Tool: through, Input: json.RawMessage(encode(m{"name": name, "arguments": c.Input}))}
	}
	return answer{&c, id}
}

// findMark is in the id of a call that looks for a tool.
const findMark = "find_"

// ours says that a tool is the memory's. own is the name that its server gives it.
func (t tool) ours() bool { return strings.Contains(t.space+t.name, "engram") }

func (t tool) own() string {
	if i := max(strings.LastIndex(t.name, "memory_"), strings.LastIndex(t.name, "mind_")); i > 0 && t.ours() {
		return t.name[i:]
	}
	return t.name
}

// said is everything that a request tells the model but its tools.
func (r request) said() string {
	var b strings.Builder
	b.WriteString(r.system)
	for _, it := range r.items {
		b.WriteString("\n" + it.text)
	}
	return b.String()
}

// events is a stream of events; data is encoded, unless it is a text.
type events struct{ w http.ResponseWriter }

func newEvents(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w}
}

func (e events) send(name string, data any) {
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	text, ok := data.(string)
	if !ok {
		text = encode(data)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", text)
	e.w.(http.Flusher).Flush()
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // the stand-in's own values
	}
	return string(text)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, encode(v))
}

type m = map[string]any

// texts joins the texts of a content, which is a text or a list of parts.
func texts(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var parts []struct {
		Text    string          `json:"text"`
		Content json.RawMessage `json:"content"`
	}
	_ = json.Unmarshal(raw, &parts)
	var all []string
	for _, p := range parts {
		if p.Text != "" {
			all = append(all, p.Text)
		} else if len(p.Content) > 0 {
			all = append(all, texts(p.Content))
		}
	}
	return strings.Join(all, "\n")
}
