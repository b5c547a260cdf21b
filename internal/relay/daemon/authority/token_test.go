package authority

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestTokensComeBack(t *testing.T) {
	for _, door := range []string{"a.example:7448", "127.0.0.1:1", "[2001:db8::1]:65535"} {
		want := Token{Door: door, Name: "b.example", Print: [32]byte{1, 31: 2}, Secret: [32]byte{3, 31: 4}}
		if got, err := ParseToken("\n " + want.String() + "\n"); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	good := Token{Door: "a.example:7448", Name: "b.example"}.String()
	for _, text := range []string{
		"", tokenMark, good[1:], good[:len(good)-40], good + "=", good + "\x00", strings.Repeat("x", longToken+1),
		Token{Door: "a.example", Name: "b"}.String(), Token{Door: "a.example:x", Name: "b"}.String(), Token{Door: ":1", Name: "b"}.String(),
		Token{Door: "a.example:1", Name: ""}.String(), Token{Door: "a.example:1", Name: "b/c"}.String(), Token{Door: "a.example:1", Name: "b\nc"}.String(),
		Token{Door: "a.example:1", Name: "a..b"}.String(), Token{Door: "0.0.0.0:1", Name: "b"}.String(),
	} {
		if got, err := ParseToken(text); !errors.Is(err, ErrNoToken) || strings.Contains(err.Error(), text) && text != "" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(Token{Door: "a.example:7448", Name: "b.example", Secret: [32]byte{1}}.String())
	f.Add(Token{Door: "[::1]:1", Name: "::2"}.String())
	f.Add(tokenMark)
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err != nil {
			return
		}
		if again, err := ParseToken(token.String()); err != nil || again != token || CheckHost(token.Name) != nil {
			t.Fatalf("%q: %+v, %+v, %v", text, token, again, err)
		}
	})
}

// clock is a clock that a test sets.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(1_800_000_000+c.at.Load(), 0) }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d / time.Second)) }
func book(t *testing.T) (Book, *clock) {
	c := new(clock)
	return Book{filepath.Join(t.TempDir(), TokensFile), c.now}, c
}

// A token is for one name, for an hour, and once; only its hash is stored.
func TestTokenOnceForOneNameForAnHour(t *testing.T) {
	b, c := book(t)
	add := func(name string) [32]byte {
		t.Helper()
		secret, err := b.Add(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	take := func(what string, secret [32]byte, name string, want error) {
		t.Helper()
		if err := b.Take(t.Context(), secret, name); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	one := add("b")
	if text, err := os.ReadFile(b.Path); err != nil || strings.Contains(string(text), string(one[:])) || !strings.Contains(string(text), hashOf(one)) {
		t.Errorf("%s, %v", text, err)
	}
	if info, err := os.Stat(b.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	take("another name", one, "c", ErrToken)
	take("another secret", [32]byte{1}, "b", ErrToken)
	take("the first time", one, "b", nil)
	take("again", one, "b", ErrToken)

	two := add("b")
	c.pass(tokenLasts - time.Second)
	three := add("c") // as long a book as before, once the other has ended
	c.pass(time.Second)
	take("after an hour", two, "b", ErrToken)
	if open, err := b.List(t.Context()); err != nil || len(open) != 1 || open[0].Name != "c" {
		t.Errorf("%+v, %v", open, err)
	}
	if err := b.Revoke(t.Context(), "b"); !errors.Is(err, ErrToken) {
		t.Errorf("revoked what is not open: %v", err)
	}
	if err := b.Revoke(t.Context(), hashOf(three)[:16]); err != nil {
		t.Error(err)
	}
	take("revoked", three, "c", ErrToken)
	four := add("d")
	c.pass(tokenLasts)
	five := add("e")
	take("another token was added since", four, "d", ErrToken)
	take("that one", five, "e", nil)

	for range mostTokens {
		add("b")
	}
	if _, err := b.Add(t.Context(), "b"); !errors.Is(err, ErrMany) {
		t.Errorf("too many: %v", err)
	}
}

// Of many that come with one token at once, one is let in.
func TestTokenTakenAtOnce(t *testing.T) {
	b, _ := book(t)
	secret, err := b.Add(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	var in atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := b.Take(t.Context(), secret, "b"); err == nil {
				in.Add(1)
			} else if !errors.Is(err, ErrToken) {
				t.Error(err)
			}
		})
	}
	if all.Wait(); in.Load() != 1 {
		t.Errorf("%d were let in", in.Load())
	}
}
