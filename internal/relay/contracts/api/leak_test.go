package api_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrivateEntriesLeaveByNoWay looks for a private entry in every answer to
// everybody but its author, and in the files.
func TestPrivateEntriesLeaveByNoWay(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(t, func(o *settings) { o.store.Path = filepath.Join(dir, "engramd.db") })
	poster, worker := w.provision("poster"), w.bind("worker")
	id := w.offer(poster, worker, nil)
	w.say(poster, worker, id, "message", "shared", "plain talk")
	note := w.say(poster, worker, id, "note", "poster_only", "xylophone")
	operator := &agent{key: w.operator}
	for _, who := range []*agent{nil, worker, operator, held("stranger")} {
		path := "/api/escrow/contracts/" + id + "/memory"
		answers := []*httptest.ResponseRecorder{
			w.do(who, "GET", path+"?events=true", nil), w.do(who, "GET", path+"/summary", nil), w.do(who, "GET", path+"/"+note.EntryID, nil),
			w.do(who, "GET", path+"?visibility=poster_only", nil), w.do(who, "GET", path+"?type=note", nil),
			w.do(who, "POST", path+"/search", map[string]any{"query": "xylophone"}),
		}
		if who != nil {
			for _, filters := range []string{`[{"kinds":[30090],"#d":[%q]}]`, `[{"kinds":[30090],"#d":[%q],"search":"xylophone"}]`} {
				answers = append(answers, w.do(who, "POST", "/query", []byte(fmt.Sprintf(filters, id))), w.do(who, "POST", "/count", []byte(fmt.Sprintf(filters, id))))
			}
			answers = append(answers, w.do(who, "GET", "/history?kind=30090&author="+poster.key.Pub, nil), w.do(who, "GET", "/api/escrow/contracts", nil))
		}
		for i, rec := range answers {
			text := rec.Body.String()
			if strings.Contains(text, "xylophone") || strings.Contains(text, note.EntryID) || strings.Contains(text, `"poster_only"`) || strings.Contains(text, `"note"`) {
				t.Errorf("answer %d: %d %s", i, rec.Code, text)
			}
		}
	}
	metrics := httptest.NewRecorder()
	w.meter.Server(false).Handler.ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))
	for what, text := range map[string]string{"the log": w.log.String(), "the metrics": metrics.Body.String()} {
		for _, secret := range []string{"xylophone", note.EntryID, id, poster.token} {
			if strings.Contains(text, secret) {
				t.Errorf("%s have %s", what, secret)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "engramd.db*"))
	must(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(t, err)
		if strings.Contains(string(raw), "xylophone") || strings.Contains(string(raw), poster.token) {
			t.Errorf("%s holds it in the clear", filepath.Base(file))
		}
	}
	if len(files) == 0 || metrics.Body.Len() < 1000 {
		t.Fatal("nothing was looked at")
	}
}
