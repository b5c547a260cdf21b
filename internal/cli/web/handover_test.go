package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"engramd/internal/cli/cliutil"
	"engramd/internal/e2e/notrun"
	"engramd/internal/web"
)

// handing is a page that hands a key over, by a clock that the test moves.
type handing struct {
	*handover
	t    *testing.T
	page http.Handler
	at   time.Time
}

func newHanding(t *testing.T) *handing {
	g := &handing{t: t, at: time.Unix(1000, 0)}
	g.handover = &handover{Encrypted: "ncryptsec1x", Agent: "a", Names: map[string]string{"a": "Sami"}, now: func() time.Time { return g.at }, used: make(chan struct{}), tickets: map[string]time.Time{}}
	g.page = webHandler(web.New(web.About{Unlock: true}), g.handover)
	return g
}

// ask asks as the page does, but for what change changes.
func (g *handing) ask(ticket string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://127.0.0.1:7449/app/unlock", strings.NewReader(`{"ticket":"`+ticket+`"}`))
	r.Header.Set("Origin", "http://127.0.0.1:7449")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	g.page.ServeHTTP(w, r)
	if strings.Contains(w.Body.String(), "ncryptsec") != (w.Code == 200) || w.Header().Get("Access-Control-Allow-Origin") != "" || w.Code != 421 && w.Header().Get("Cache-Control") != "no-store" {
		g.t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	return w
}

// TestTicketWorksOnce: and with it all others are void.
func TestTicketWorksOnce(t *testing.T) {
	g := newHanding(t)
	token, code := g.token(), g.code()
	if w := g.ask(token); w.Code != 200 || w.Body.String() != `{"ncryptsec":"ncryptsec1x","agent":"a","names":{"a":"Sami"}}`+"\n" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	<-g.used
	for _, ticket := range []string{token, code, g.code()} {
		if w := g.ask(ticket); w.Code != http.StatusGone {
			t.Errorf("after its use: %d", w.Code)
		}
	}
}

// TestTicketIsForAMinute: to the millisecond.
func TestTicketIsForAMinute(t *testing.T) {
	g := newHanding(t)
	token := g.token()
	if g.at = g.at.Add(ticketTime); g.ask(token).Code != http.StatusGone {
		t.Error("it is good after a minute")
	}
	code := g.code()
	if g.at = g.at.Add(ticketTime - time.Millisecond); g.ask(strings.ToLower(code)).Code != 200 {
		t.Error("it is not good within a minute")
	}
}

// TestOnlyThePageMayAsk: others are refused, and the ticket stays good for the page.
func TestOnlyThePageMayAsk(t *testing.T) {
	g := newHanding(t)
	token := g.token()
	set := func(header, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(header, value) }
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"another page":            {set("Origin", "http://127.0.0.1:3000"), 403},
		"a page of elsewhere":     {set("Origin", "https://other.example"), 403},
		"a page without origin":   {set("Origin", "null"), 403},
		"a program":               {func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"a page of this site":     {set("Sec-Fetch-Site", "same-site"), 403},
		"a form":                  {set("Content-Type", "text/plain"), 403},
		"a link":                  {func(r *http.Request) { r.Method = "GET" }, 405},
		"another name of ours":    {func(r *http.Request) { r.Host = "rebound.example:7449" }, 421},
		"another name, and alike": {func(r *http.Request) { r.Host = "localhost:7449" }, 403},
	} {
		if w := g.ask(token, c.change); w.Code != c.want {
			t.Errorf("%s: %d, want %d", name, w.Code, c.want)
		}
	}
	if g.ask(token).Code != 200 {
		t.Error("the page is refused then")
	}
	none := webHandler(web.New(web.About{}), nil)
	w := httptest.NewRecorder()
	if none.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/app/unlock", nil)); w.Code != 404 {
		t.Errorf("without a key: %d", w.Code)
	}
}

// TestGuessesEnd: who guesses voids the ticket before they could have found it.
func TestGuessesEnd(t *testing.T) {
	g := newHanding(t)
	code := g.code()
	for range mostWrong {
		g.ask("AAAAAAAA")
	}
	if g.ask(code).Code != http.StatusGone {
		t.Error("the code is good after so many guesses")
	}
}

// TestFileIsForItsUserAlone: what leads the browser is nobody else's to read, and lies
// in no folder that others may look into.
func TestFileIsForItsUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // its folders have lists of their own
	}
	home, run := t.TempDir(), t.TempDir()
	env := cliutil.New(&cliutil.System{Env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + run}})
	if err := os.Chmod(run, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, within := range []string{run, home} {
		path, err := ticketFile(env, "http://127.0.0.1:1/app/", "TICKET")
		if err != nil || !strings.HasPrefix(path, within) {
			t.Fatalf("%s, %v: want it below %s", path, err, within)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "url=http://127.0.0.1:1/app/#unlock=TICKET\"") {
			t.Errorf("%s, %v", text, err)
		}
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", p, info.Mode(), err)
			}
		}
		if err := os.Chmod(run, 0o755); err != nil { // the second time it is not taken
			t.Fatal(err)
		}
	}
	beside := filepath.Join(cliutil.StateFolder(env), "run")
	if err := os.Chmod(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	if path, err := ticketFile(env, "http://127.0.0.1:1/app/", "TICKET"); err == nil {
		t.Errorf("%s is in a folder that others may look into", path)
	}
	if os.Geteuid() != 0 {
		notrun.Part(t, "only root gives folders away")
		return
	}
	// Another user's folder is no more taken: neither the session's nor the one beside.
	for _, dir := range []string{run, beside} {
		if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 4242, -1)); err != nil {
			t.Fatal(err)
		}
		path, err := ticketFile(env, "http://127.0.0.1:1/app/", "TICKET")
		if dir == beside && err == nil || strings.HasPrefix(path, run) {
			t.Errorf("%s is in a folder of another user", path)
		}
	}
}
