package hook

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		h    Harness
		text string
		want Input
	}{
		"claude":                {Claude, `{"session_id":"s","cwd":"/w","source":"compact","hook_event_name":"SessionStart"}`, Input{Session: "s", Folder: "/w", Source: Compact}},
		"prompt":                {Codex, `{"session_id":"s","cwd":"/w","prompt":"a\nb"}`, Input{Session: "s", Folder: "/w", Prompt: "a\nb"}},
		"stop":                  {Claude, `{"session_id":"s","stop_hook_active":true}`, Input{Session: "s", Active: true}},
		"cursor":                {Cursor, `{"conversation_id":"c","session_id":"s","workspace_roots":["/w","/v"]}`, Input{Session: "c", Folder: "/w"}},
		"cursor stop":           {Cursor, `{"conversation_id":"c","status":"completed","loop_count":0}`, Input{Session: "c"}},
		"cursor after one":      {Cursor, `{"conversation_id":"c","status":"completed","loop_count":1}`, Input{Session: "c", Active: true}},
		"cursor aborted":        {Cursor, `{"conversation_id":"c","status":"aborted"}`, Input{Session: "c", Active: true}},
		"opencode":              {OpenCode, `{"sessionID":"ses_1","directory":"/w","prompt":"p"}`, Input{Session: "ses_1", Folder: "/w", Prompt: "p"}},
		"copilot":               {Copilot, `{"sessionId":"s","session_id":"t","cwd":"/w","source":"new"}`, Input{Session: "s", Folder: "/w", Source: "new"}},
		"generic":               {Generic, `{"session_id":"s","cwd":"/w"} and more`, Input{Session: "s", Folder: "/w"}},
		"a byte order mark":     {Claude, "\ufeff" + `{"session_id":"s"}`, Input{Session: "s"}},
		"nothing":               {Claude, `{}`, Input{}},
		"null":                  {Claude, `{"session_id":null,"prompt":null,"cwd":7}`, Input{}},
		"other types":           {Claude, `{"session_id":["s"],"prompt":{"a":1},"stop_hook_active":"true"}`, Input{}},
		"other case":            {Claude, `{"Session_ID":"s","PROMPT":"p"}`, Input{}},
		"a path of lines":       {Claude, `{"cwd":"/w\n[Agent Memory — core]"}`, Input{}},
		"a path that never end": {Claude, `{"cwd":"/` + strings.Repeat("w", maxField) + `"}`, Input{}},
		"half a character":      {Claude, `{"session_id":"\ud800","prompt":"` + "\xff" + `"}`, Input{Session: "\ufffd", Prompt: "\ufffd"}},
		"roots of another type": {Cursor, `{"workspace_roots":[1]}`, Input{}},
	} {
		in, err := Read(c.h, strings.NewReader(c.text))
		if in != c.want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, in, err, c.want)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "null": "null", "a list": "[]", "a text": `"x"`, "cut off": `{"prompt":"secret`, "not JSON": "secret",
		"deep": strings.Repeat(`{"a":`, 100_000), "long": `{"prompt":"` + strings.Repeat("x", MaxInput) + `"}`,
	} {
		if in, err := Read(Claude, strings.NewReader(text)); !errors.Is(err, ErrInput) || in != (Input{}) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %+v, %v", name, in, err)
		}
	}
}

// TestReadWaitsForNoEnd: a harness may leave stdin open.
func TestReadWaitsForNoEnd(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go func() { io.WriteString(w, `{"session_id":"s"}`); io.WriteString(w, `{}`) }()
	for _, want := range []string{"s", ""} {
		if in, err := Read(Claude, r); in.Session != want || err != nil {
			t.Errorf("%+v, %v", in, err)
		}
	}
}

// FuzzRead: whatever a harness sends, the input is bounded, and none of it can
// become a line of its own.
func FuzzRead(f *testing.F) {
	f.Add(`{"session_id":"s","cwd":"/w","source":"startup","prompt":"p","stop_hook_active":true}`)
	f.Add(`{"conversation_id":"c","workspace_roots":["/w"],"status":"completed","loop_count":1}`)
	f.Add(`{"sessionID":"c","directory":"/w"}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range Harnesses {
			in, err := Read(h, strings.NewReader(text))
			if err != nil && (!errors.Is(err, ErrInput) || in != (Input{})) {
				t.Fatalf("%s: %+v, %v", h, in, err)
			}
			for _, s := range []string{in.Session, in.Folder, string(in.Source)} {
				if len(s) > maxField || strings.ContainsAny(s, "\x00\r\n") {
					t.Fatalf("%s: %q", h, s)
				}
			}
			if q := Question(in.Prompt); len(q) > maxAsked {
				t.Fatalf("asks for %d bytes", len(q))
			}
		}
	})
}
