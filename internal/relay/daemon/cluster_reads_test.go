package daemon

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"engramd/internal/relay/cluster"
	relayhttp "engramd/internal/relay/http"
)

// testSessions are those of a node that has executed nothing.
func testSessions(t testing.TB, secret, id byte) *sessions {
	t.Helper()
	node, err := cluster.New(cluster.Options{ClusterID: cluster.ClusterID{id}, NodeID: cluster.NodeID{1}, Boot: 1, Log: noLog{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSessions(bytes.Repeat([]byte{secret}, 32), cluster.ClusterID{id}, func() *cluster.Node { return node })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A token is taken at every node that has the relay's key, of the key that got it, and
// says nothing.
func TestSessionTokens(t *testing.T) {
	s, key := testSessions(t, 1, 1), strings.Repeat("ab", 32)
	token := s.Token(key)
	if s.Token(key) == token || len(token) != 64 {
		t.Errorf("a token can be told from others: %q", token)
	}
	if err := testSessions(t, 1, 1).Resume(t.Context(), key, token); err != nil {
		t.Errorf("another node: %v", err)
	}
	for name, c := range map[string]struct {
		s          *sessions
		key, token string
	}{
		"another key":         {s, strings.Repeat("ac", 32), token},
		"another cluster":     {testSessions(t, 1, 2), key, token},
		"another relay's key": {testSessions(t, 2, 1), key, token},
		"nothing":             {s, key, ""},
		"cut":                 {s, key, token[1:]},
		"longer":              {s, key, token + "A"},
		"no base64":           {s, key, "=" + token[1:]},
	} {
		if err := c.s.Resume(t.Context(), c.key, c.token); !errors.Is(err, relayhttp.ErrSession) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range token {
		other := byte('A')
		if token[i] == other {
			other = 'B'
		}
		if err := s.Resume(t.Context(), key, token[:i]+string(other)+token[i+1:]); !errors.Is(err, relayhttp.ErrSession) {
			t.Errorf("altered at %d: %v", i, err)
		}
	}
}

func FuzzSession(f *testing.F) {
	s, key := testSessions(f, 1, 1), strings.Repeat("ab", 32)
	token := s.Token(key)
	f.Add(token[:63] + "!")
	f.Add(token + "\n")
	f.Fuzz(func(t *testing.T, sent string) {
		if err := s.Resume(t.Context(), key, sent); !errors.Is(err, relayhttp.ErrSession) {
			t.Fatalf("%q: %v", sent, err)
		}
	})
}
