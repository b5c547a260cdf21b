package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/cmd/engram-load/internal/recalled"
)

func TestRecallCommand(t *testing.T) {
	code, out, errs := command(t, "recall", "--synthetic", "3", "--seed", "9")
	if code != exitOK || errs != "" {
		t.Fatalf("%d %q", code, errs)
	}
	for _, want := range []string{"synthetic, 3 subjects, seed 9: 1 memories of 60 documents", "seed 9 | found | 39 | ", "seed 9 | told | 39 | ", "seed 9 | SQLite FTS5 | 39 | ", "seed 9 | inflected | 3 | 100.0 / 100.0 |"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	code, out, _ = command(t, "recall", "--synthetic", "3", "--recipe", "--json")
	var got struct {
		Sizes   []measure.Sizes
		Figures []recalled.Result
	}
	if err := json.Unmarshal([]byte(out), &got); code != exitOK || err != nil || len(got.Figures) != 3 || got.Figures[0].Questions != 39 || got.Sizes[0].Documents != 60 || got.Figures[1].Unanswered != 3 {
		t.Errorf("%d, %v: %+v", code, err, got)
	}
}

// Several sets of several forms are measured in one call, as they are, behind talk,
// in small collections, and without each weight.
func TestRecallOfSeveral(t *testing.T) {
	const own = "../../testdata/recall/"
	args := []string{"recall", "--data", own + "coding.json", "--data", own + "unrelated.json"}
	for _, tt := range []struct {
		more []string
		says []string
	}{
		{[]string{"--recipe"}, []string{"coding.json: 1 memories of 48 documents", "| coding.json | told | 65 |", "| coding.json | identifier | 10 |"}},
		{[]string{"--long", "--recipe", "--every", "3"}, []string{"| coding.json, 0 words before | found |", "| coding.json, 105 words before | told |"}},
		{[]string{"--small", "--recipe"}, []string{"| coding.json, collections of 1 | returned |", "| coding.json, collections of 10 | told |"}},
		{[]string{"--weights"}, []string{"| without | coding.json |\n", "\n| Group | "}},
		{[]string{"--recipe", "--misses"}, []string{"found, shelfvan, paraphrase: "}},
	} {
		code, out, errs := command(t, append(args, tt.more...)...)
		for _, want := range tt.says {
			if code != exitOK || !strings.Contains(out+errs, want) {
				t.Errorf("%v: %d lacks %q:\n%s%s", tt.more, code, want, out, errs)
			}
		}
	}
	for says, more := range map[string][]string{"either --long or --small": {"--long", "--small"}, "--every is 0": {"--every", "0"}} {
		if code, _, errs := command(t, append(args, more...)...); code != exitUsage || !strings.Contains(errs, says) {
			t.Errorf("%v: %d %q", more, code, errs)
		}
	}
	if code, _, errs := command(t, "recall", "--data", own+"unrelated.json"); code != exitUsage || !strings.Contains(errs, "has a memory") {
		t.Errorf("%d %q", code, errs)
	}
	code, out, _ := command(t, append(args, "--weights", "--json", "--every", "9")...)
	var all []recalled.Without
	if err := json.Unmarshal([]byte(out), &all); code != exitOK || err != nil || len(all) < 10 || all[0].Found[0].Questions == 0 {
		t.Errorf("%d, %v: %s", code, err, out)
	}
}

func TestForgetCommand(t *testing.T) {
	code, out, errs := command(t, "recall", "--synthetic", "3", "--forget")
	if code != exitOK || errs != "" || !strings.Contains(out, "recall@10 of 39 questions; all kept: ") || !strings.Contains(out, "\n| activation |") {
		t.Errorf("%d %q\n%s", code, errs, out)
	}
	code, out, _ = command(t, "recall", "--synthetic", "3", "--forget", "--json")
	var got measure.Forgotten
	if err := json.Unmarshal([]byte(out), &got); code != exitOK || err != nil || got.Questions != 39 || len(got.Ways) < 6 || len(got.Ways[0].At10) != 3 {
		t.Errorf("%d, %v: %s", code, err, out)
	}
}

// A model that knows which texts belong together is measured beside words, and alone.
func TestRecallWithAModel(t *testing.T) {
	var fails atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || fails.Load() {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		var parts []string
		for i, text := range in.Input {
			v := "[0,1]"
			if strings.Contains(text, "vessel") || strings.Contains(text, "boat") {
				v = "[1,0]"
			}
			parts = append(parts, fmt.Sprintf(`{"index":%d,"embedding":%s}`, i, v))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(parts, ","))
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "talk.json")
	talk := `[{"sample_id": "1", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
		{"speaker": "Ana", "dia_id": "D1:1", "text": "Fine weather."}, {"speaker": "Bo", "dia_id": "D1:2", "text": "My boat leaks."}]},
		"qa": [{"question": "Whose vessel sinks?", "evidence": ["D1:2"], "category": 4}]}]`
	if err := os.WriteFile(path, []byte(talk), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"recall", "--data", path, "--recipe", "--embed-url", server.URL, "--embed-model", "fake"}
	code, out, errs := command(t, args...)
	for _, want := range []string{"| found | 1 | 100.0 | 100.0 | 100.0 | 100.0 |", "| meaning alone | 1 | 100.0 |"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%d %q lacks %q:\n%s", code, errs, want, out)
		}
	}
	fails.Store(true)
	if code, out, errs := command(t, args...); code != exitFailed || !strings.Contains(errs, "the model server failed") || out != "" {
		t.Errorf("a model that fails: %d %q %q", code, errs, out)
	}
	for _, wrong := range [][]string{{"--embed-model", "fake"}, {"--embed-url", "http://models.example", "--embed-model", "fake"}, {"--embed-url", server.URL}, {"--embed", "all"}} {
		if code, _, errs := command(t, append([]string{"recall", "--data", path}, wrong...)...); code != exitUsage {
			t.Errorf("%v: %d %q", wrong, code, errs)
		}
	}
}

// A file in LoCoMo's form is measured; any other file is refused.
func TestRecallOfAFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("talk.json", `[{"sample_id": "1", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
		{"speaker": "Ana", "dia_id": "D1:1", "text": "I bought a boat."}, {"speaker": "Bo", "dia_id": "D1:2", "text": "Fine."}]},
		"qa": [{"question": "What did Ana buy?", "evidence": ["D1:1"], "category": 4}]}]`)
	code, out, errs := command(t, "recall", "--data", good, "--recipe")
	if code != exitOK || !strings.Contains(out, "talk.json: 1 memories of 2 documents") || !strings.Contains(out, "| found | 1 | 100.0 | 100.0 | 100.0 | 100.0 | 1.000 | 1.000 |") {
		t.Errorf("%d %q %q", code, out, errs)
	}
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "either --data or --synthetic"},
		{[]string{"--data", good, "--synthetic", "3"}, exitUsage, "either --data or --synthetic"},
		{[]string{"--synthetic", "-1"}, exitUsage, "1 to 2000"},
		{[]string{"--synthetic", "2001"}, exitUsage, "1 to 2000"},
		{[]string{"--data", filepath.Join(dir, "none.json")}, exitFailed, "no such file"},
		{[]string{"--data", file("bad.json", "[]")}, exitFailed, "not of LoCoMo's form"},
		{[]string{"x"}, exitUsage, "unknown command"},
	} {
		if code, _, errs := command(t, append([]string{"recall"}, tt.args...)...); code != tt.code || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: %d %q", tt.args, code, errs)
		}
	}
}
