package relayhttp

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"engramd/internal/relay"
)

// seen is Sessions that know one token.
type seen struct{ asked []string }

func (s *seen) Token(key string) string { return "of " + key[:8] }

func (s *seen) Resume(_ context.Context, key, token string) error {
	s.asked = append(s.asked, key)
	switch token {
	case "good":
		return nil
	case "late":
		return errors.New("not here in time")
	}
	return ErrSession
}

// An answer to a proved key names what it rests on, and a token of it is waited for
// before anything is read.
func TestSessions(t *testing.T) {
	s := &seen{}
	w := newWorld(t, func(o *Options) { o.Sessions = s })
	w.put(agent.Note(1, "one"))
	ask := func(path, body string, tokens ...string) (int, http.Header, string) {
		header := []string{"Authorization", w.sign(agent, "POST", path, []byte(body))}
		for _, token := range tokens {
			header = append(header, relay.SessionHeader, token)
		}
		rec := w.do("POST", path, []byte(body), header...)
		return rec.Code, rec.Header(), rec.Body.String()
	}
	const notes = `[{"kinds":[1]}]`
	for _, c := range []struct {
		name, path, body string
		tokens           []string
		status           int
		given            bool
	}{
		{"without", "/query", notes, nil, 200, true},
		{"a good one", "/query", notes, []string{"good"}, 200, true},
		{"counting", "/count", notes, []string{"good"}, 200, true},
		{"writing", "/events", text(agent.Sign(1, -30, "two")), []string{"good"}, 200, true},
		{"a refusal", "/query", `[{}]`, []string{"good"}, 403, true},
		{"a bad one", "/query", notes, []string{"bad"}, 400, false},
		{"an empty one", "/query", notes, []string{""}, 400, false},
		{"two", "/query", notes, []string{"good", "good"}, 400, false},
		{"one that is late", "/query", notes, []string{"late"}, 503, false},
	} {
		code, header, body := ask(c.path, c.body, c.tokens...)
		want := ""
		if c.given {
			want = s.Token(agent.Pub)
		}
		if got := header.Get(relay.SessionHeader); code != c.status || got != want {
			t.Errorf("%s: %d, session %q, %s", c.name, code, got, body)
		}
	}
	for _, key := range s.asked {
		if key != agent.Pub {
			t.Errorf("asked for %s", key)
		}
	}
	asked := len(s.asked)
	if rec := w.do("POST", "/query", []byte(notes), relay.SessionHeader, "good"); rec.Code != 401 || rec.Header().Get(relay.SessionHeader) != "" || len(s.asked) != asked {
		t.Errorf("without a proof: %d %v", rec.Code, rec.Header())
	}
	plain := newWorld(t)
	rec := plain.do("POST", "/query", []byte(notes), "Authorization", plain.sign(agent, "POST", "/query", []byte(notes)), relay.SessionHeader, "bad")
	if rec.Code != 200 || rec.Header().Get(relay.SessionHeader) != "" {
		t.Errorf("where nobody asks for sessions: %d %v", rec.Code, rec.Header())
	}
}
