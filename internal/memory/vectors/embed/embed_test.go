package embed

import (
	"context"
	"encoding/json"
	"engramd/internal/memory/model"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake serves as a test says.
func fake(t *testing.T, serve http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return s.URL
}

func client(t *testing.T, url string) *Client {
	t.Helper()
	c, err := New(Options{URL: url, Model: "m", Timeout: time.Minute, Key: "sk-secret"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEmbed: vectors are returned in the order of the texts, whatever the
// answer's order, and many texts take several requests.
func TestEmbed(t *testing.T) {
	var sizes []int
	url := fake(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model string
			Input []string
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model != "m" || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer sk-secret" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		sizes = append(sizes, len(in.Input))
		var parts []string
		for i := range in.Input {
			parts = append(parts, fmt.Sprintf(`{"index":%d,"embedding":[%d,1]}`, i, len(in.Input[i])))
		}
		slices.Reverse(parts)
		fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(parts, ","))
	})
	c := client(t, url+"/v1/")
	var texts []string
	for i := range MaxBatch + 3 {
		texts = append(texts, strings.Repeat("x", i+1))
	}
	texts[0] = strings.Repeat("é", MaxText)
	all, err := c.Embed(t.Context(), texts)
	if err != nil || len(all) != len(texts) || c.Dim() != 2 {
		t.Fatalf("%d vectors of %d, %v", len(all), c.Dim(), err)
	}
	if all[0][0] != MaxText || all[5][0] != 6 || all[MaxBatch+2][0] != MaxBatch+3 {
		t.Errorf("vectors %v", all)
	}
	if !slices.Equal(sizes, []int{MaxBatch, 3}) {
		t.Errorf("requests of %v", sizes)
	}
}

// TestHostileAnswers: nothing but vectors is accepted, and no error repeats a
// text, a key or the server's words.
func TestHostileAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   error
	}{
		"too few":          {200, `{"data":[{"index":0,"embedding":[1,2]}]}`, model.ErrAnswer},
		"too many":         {200, `{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, model.ErrAnswer},
		"twice":            {200, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`, model.ErrAnswer},
		"beyond":           {200, `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`, model.ErrAnswer},
		"before":           {200, `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`, model.ErrAnswer},
		"other length":     {200, `{"data":[{"embedding":[1,2]},{"embedding":[1]}]}`, model.ErrAnswer},
		"empty":            {200, `{"data":[{"embedding":[]},{"embedding":[]}]}`, model.ErrAnswer},
		"zero":             {200, `{"data":[{"embedding":[0,0]},{"embedding":[1,1]}]}`, model.ErrAnswer},
		"infinite":         {200, `{"data":[{"embedding":[1e39,0]},{"embedding":[1,1]}]}`, model.ErrAnswer},
		"NaN":              {200, `{"data":[{"embedding":[NaN]},{"embedding":[1]}]}`, model.ErrAnswer},
		"long vector":      {200, `{"data":[{"embedding":[1` + strings.Repeat(",1", MaxDim) + `]},{"embedding":[1]}]}`, model.ErrAnswer},
		"long answer":      {200, `{"data":"` + strings.Repeat("x", 16<<20) + `"}`, model.ErrAnswer},
		"no JSON":          {200, `<html>the words`, model.ErrAnswer},
		"refused":          {401, `the words`, model.ErrFailed},
		"redirect":         {302, ``, model.ErrFailed},
		"a null vector":    {200, `{"data":[null,null]}`, model.ErrAnswer},
		"an error as data": {200, `{"error":{"message":"the words"}}`, model.ErrAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			var visited bool
			elsewhere := fake(t, func(http.ResponseWriter, *http.Request) { visited = true })
			url := fake(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", elsewhere)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := client(t, url).Embed(t.Context(), []string{"a memory", "another memory"})
			if !errors.Is(err, c.want) || visited {
				t.Fatalf("got %v, redirected: %v", err, visited)
			}
			for _, word := range []string{"memory", "sk-secret", "the words"} {
				if strings.Contains(err.Error(), word) {
					t.Errorf("the error says %q: %v", word, err)
				}
			}
		})
	}
}

func TestHangsAndIsGone(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	if _, err := client(t, gone.URL).Embed(t.Context(), []string{"x"}); !errors.Is(err, model.ErrFailed) || strings.Contains(err.Error(), gone.URL) {
		t.Errorf("a server that is gone: %v", err)
	}
	release := make(chan struct{})
	hanging := fake(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := client(t, hanging).Embed(ctx, []string{"x"}); !errors.Is(err, model.ErrFailed) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a server that hangs: %v", err)
	}
	c, err := New(Options{URL: hanging, Model: "m", Timeout: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Embed(t.Context(), []string{"x"}); !errors.Is(err, model.ErrFailed) {
		t.Errorf("with a time limit of its own: %v", err)
	}
}

func TestWhereTextsMayGo(t *testing.T) {
	for _, c := range []struct {
		url   string
		allow bool
		err   error
	}{
		{"http://127.0.0.1:8080", false, nil},
		{"http://[::1]:8080/v1/embeddings", false, nil},
		{"http://localhost:11434/v1", false, nil},
		{"https://models.example", true, nil},
		{"https://models.example", false, model.ErrPlaintext},
		{"http://models.example", true, model.ErrURL},
		{"http://192.168.0.7:8080", true, model.ErrURL},
		{"http://localhost.example", true, model.ErrURL},
		{"http://127.0.0.1@models.example", true, model.ErrURL},
		{"https://user:password@models.example", true, model.ErrURL},
		{"ftp://127.0.0.1", true, model.ErrURL},
		{"127.0.0.1:8080", true, model.ErrURL},
		{"", true, model.ErrURL},
	} {
		_, err := New(Options{URL: c.url, Model: "m", SendPlaintext: c.allow})
		if !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: %v", c.url, err)
		}
		if err != nil && strings.Contains(err.Error(), "password@") {
			t.Errorf("the error says %v", err)
		}
	}
	for _, o := range []Options{{URL: "http://localhost"}, {URL: "http://localhost", Model: "a\nb"}, {URL: "http://localhost", Model: "m", Key: "a\r\nX: y"}} {
		if _, err := New(o); !errors.Is(err, model.ErrURL) || o.Key != "" && strings.Contains(err.Error(), "X: y") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestRerank(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []float64
	}{
		"scores":   {`{"results":[{"index":1,"relevance_score":0.9},{"index":0,"relevance_score":-2}]}`, []float64{-2, 0.9}},
		"too few":  {`{"results":[{"index":1,"relevance_score":0.9}]}`, nil},
		"twice":    {`{"results":[{"index":1,"relevance_score":0.9},{"index":1,"relevance_score":0.9}]}`, nil},
		"unscored": {`{"results":[{"index":1},{"index":0}]}`, nil},
	} {
		var path string
		url := fake(t, func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			_, _ = io.WriteString(w, c.body)
		})
		r, err := NewReranker(Options{URL: url, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		scores, err := r.Score(t.Context(), "which?", []string{"a", "b"})
		if !slices.Equal(scores, c.want) || (err == nil) != (c.want != nil) || err != nil && !errors.Is(err, model.ErrAnswer) || path != "/v1/rerank" {
			t.Errorf("%s: %v, %v at %s", name, scores, err, path)
		}
	}
}

// FuzzAnswer: whatever a server answers, vectors have the required number and
// length.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":[3,4]}]}`))
	f.Add([]byte(`{"data":[{"embedding":[1e38]},{"embedding":[-1]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := New(Options{URL: "http://localhost", Model: "m", Transport: answers(body)})
		if err != nil {
			t.Fatal(err)
		}
		all, err := c.Embed(t.Context(), []string{"a", "b"})
		if err != nil {
			return
		}
		if len(all) != 2 || len(all[0]) != c.Dim() || len(all[1]) != c.Dim() || c.Dim() == 0 {
			t.Errorf("vectors %v", all)
		}
	})
}

// answers is a transport that answers every request with these bytes.
type answers []byte

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(string(a))), Request: r}, nil
}

func TestForms(t *testing.T) {
	for name, want := range map[string]string{"snowflake-arctic-embed-m-Q8_0.gguf": "Represent", "intfloat/e5-small": "query: ", "text-embedding-3-small": ""} {
		if query, _ := Forms(name); !strings.HasPrefix(query, want) || want == "" && query != "" {
			t.Errorf("%s: %q", name, query)
		}
	}
}

// TestRefusal: a server that refuses a text is told apart from one that fails.
func TestRefusal(t *testing.T) {
	for status, refused := range map[int]bool{400: true, 413: true, 422: true, 500: true, 401: false, 404: false, 429: false, 503: false} {
		c := client(t, fake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := c.Embed(t.Context(), []string{"a"})
		if errors.Is(err, model.ErrRefused) != refused || !errors.Is(err, model.ErrFailed) {
			t.Errorf("%d: %v", status, err)
		}
	}
}
