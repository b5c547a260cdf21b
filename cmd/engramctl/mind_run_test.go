package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// modelServerKey is the key that a script's model server demands.
const modelServerKey = "sk-llm-0123456789abcdefghijkl"

// runModel runs a model server that answers each question with the contents of
// a file, and sets MODEL to its URL and ENGRAM_LLM_KEY to the key that it
// demands.
func runModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model FILE")
	}
	answer := ts.ReadFile(args[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model    string
			Messages []struct{ Role, Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Authorization") != "Bearer "+modelServerKey || r.URL.Path != "/v1/chat/completions" ||
			in.Model != "tiny" || len(in.Messages) != 1 {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": answer},
		}}}) // the client sees that the connection was cut off
	}))
	ts.Defer(server.Close)
	ts.Setenv("MODEL", server.URL)
	ts.Setenv("ENGRAM_LLM_KEY", modelServerKey)
}
