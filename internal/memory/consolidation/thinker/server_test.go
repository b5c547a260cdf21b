package thinker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/memory/model"
)

const modelKey = "sk-llm-0123456789abcdef"

// said is a completion with a text.
func said(text, finish string) string {
	content, _ := json.Marshal(text)
	return fmt.Sprintf(`{"choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant","content":%s}}]}`, finish, content)
}

// serve runs a model server and returns the Thinker that asks it.
func serve(t *testing.T, h http.HandlerFunc) *Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	thinker, err := NewServer(model.Options{URL: s.URL, Model: "tiny", Key: modelKey})
	if err != nil {
		t.Fatal(err)
	}
	return thinker
}

// TestServer: what a model server is asked, and what is made of what it says.
func TestServer(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer elsewhere.Close()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		err    error
		why    string
	}{
		"good":           {write(200, said(good, "stop")), nil, ""},
		"in a fence":     {write(200, said("Sure!\n```json\n"+good+"\n```", "stop")), nil, ""},
		"cut off":        {write(200, said(good[:20], "length")), ErrAnswer, "cut it off"},
		"no choice":      {write(200, `{"choices":[]}`), ErrAnswer, "0 choices"},
		"two choices":    {write(200, `{"choices":[{},{}]}`), ErrAnswer, "2 choices"},
		"says nothing":   {write(200, `{"choices":[{"message":{"content":null}}]}`), ErrAnswer, "empty"},
		"in parts":       {write(200, `{"choices":[{"message":{"content":[{"text":"x"}]}}]}`), ErrAnswer, "not the JSON"},
		"wrong JSON":     {write(200, `{"choices":`), ErrAnswer, "not the JSON"},
		"a page":         {write(200, "<html>"), ErrAnswer, "not the JSON"},
		"an error in it": {write(200, `{"error":{"message":"`+modelKey+`"}}`), ErrAnswer, "0 choices"},
		"10 MiB":         {write(200, said(strings.Repeat("x", 10<<20), "stop")), ErrAnswer, "longer"},
		"500":            {write(500, `{"error":{"message":"`+modelKey+` a plan"}}`), ErrFailed, "500"},
		"401":            {write(401, modelKey), ErrFailed, "401"},
		"streams": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", said(good, "stop"))
		}, ErrAnswer, "streams"},
		"redirect": {func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, ErrFailed, "redirects are not followed"},
		"429": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		}, ErrFailed, "again after 2m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				var in request
				if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+modelKey ||
					in.Model != "tiny" || in.Stream || len(in.Messages) != 1 || in.Messages[0] != (message{"user", "a plan"}) || strings.Contains(r.URL.String(), modelKey) {
					t.Errorf("%s asked for %+v, %v", r.URL, in, err)
				}
				c.answer(w)
			})
			ops, err := s.Think(t.Context(), "a plan")
			if c.err == nil {
				if err != nil || len(ops) != 1 {
					t.Fatalf("%v, %v", ops, err)
				}
				return
			}
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.why) || ops != nil || strings.Contains(err.Error(), modelKey) || strings.Contains(err.Error(), "a plan") {
				t.Fatalf("%v, %v; want %v with %q", ops, err, c.err, c.why)
			}
		})
	}
}

func write(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// TestServerWithoutFormats: one that does not know response_format is asked
// without, and later asked without at once.
func TestServerWithoutFormats(t *testing.T) {
	var asked, refused atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var in map[string]any
		if json.NewDecoder(r.Body).Decode(&in) != nil || in["response_format"] != nil {
			refused.Add(1)
			write(400, `{"error":"response_format?"}`)(w)
			return
		}
		write(200, said(good, "stop"))(w)
	})
	for range 2 {
		if ops, err := s.Think(t.Context(), "a plan"); err != nil || len(ops) != 1 {
			t.Fatalf("%v, %v", ops, err)
		}
	}
	if asked.Load() != 3 || refused.Load() != 1 {
		t.Errorf("asked %d times, refused %d", asked.Load(), refused.Load())
	}
}

// TestServerHangs: one that is slow is waited for; one that says nothing, or
// nothing after its headers, is given up, by the limit or by whoever waits.
func TestServerHangs(t *testing.T) {
	for name, headers := range map[string]bool{"before its headers": false, "after its headers": true} {
		t.Run(name, func(t *testing.T) {
			arrived, release := make(chan struct{}, 4), make(chan struct{})
			defer close(release)
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if headers {
					w.WriteHeader(200)
					_, _ = w.Write([]byte(`{"choices":`))
					_ = http.NewResponseController(w).Flush()
				}
				arrived <- struct{}{}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			})
			server := httptest.NewServer(h)
			defer server.CloseClientConnections()
			within := func(limit time.Duration, ctx context.Context) error {
				s, err := NewServer(model.Options{URL: server.URL, Model: "tiny", Timeout: limit})
				if err != nil {
					t.Fatal(err)
				}
				_, err = s.Think(ctx, "a plan")
				return err
			}
			// On a busy machine the time may be over before the server has heard of it.
			for limit, heard := 100*time.Millisecond, false; !heard; limit *= 3 {
				if err := within(limit, t.Context()); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), "in time") {
					t.Fatalf("within %v: %v", limit, err)
				}
				select {
				case <-arrived:
					heard = true
				default:
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
			}()
			if err := within(5*time.Minute, ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		})
	}
	slow := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-slow
		_, _ = w.Write([]byte(said(good, "stop")))
	})
	time.AfterFunc(50*time.Millisecond, func() { close(slow) })
	if ops, err := s.Think(t.Context(), "a plan"); err != nil || len(ops) != 1 {
		t.Errorf("slow: %v, %v", ops, err)
	}
}

// TestServerIsNear: beyond this machine it takes https and somebody's word.
func TestServerIsNear(t *testing.T) {
	for url, c := range map[string]struct {
		plaintext bool
		err       error
	}{
		"http://127.0.0.1:1":                {false, nil},
		"http://localhost:1/v1":             {false, nil},
		"http://[::1]:1":                    {false, nil},
		"http://llm.example":                {true, model.ErrURL},
		"https://llm.example":               {false, model.ErrPlaintext},
		"https://llm.example/v1":            {true, nil},
		"https://user:secret@llm.example":   {true, model.ErrURL},
		"file:///etc/passwd":                {true, model.ErrURL},
		"http://127.0.0.1.llm.example":      {false, model.ErrURL},
		"https://localhost.llm.example":     {false, model.ErrPlaintext},
		"http://0.0.0.0:1":                  {false, model.ErrURL},
		"":                                  {false, model.ErrURL},
		"http://127.0.0.1:1/#https://a.bcd": {false, model.ErrURL},
	} {
		_, err := NewServer(model.Options{URL: url, Model: "m", SendPlaintext: c.plaintext})
		if !errors.Is(err, c.err) || c.err == nil && err != nil || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %v", url, err, c.err)
		}
	}
}

// TestServerPlanTooLong: more than a plan may have is not sent.
func TestServerPlanTooLong(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	if _, err := s.Think(t.Context(), strings.Repeat("x", MaxPlan+1)); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
}
