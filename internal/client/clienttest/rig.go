package clienttest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"engramd/internal/e2e/testkeys"
)

// Silent takes connections and says nothing, not even to a handshake.
func Silent(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var held []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			held = append(held, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range held {
			c.Close()
		}
	})
	return "ws://" + l.Addr().String()
}

// Randomness returns a stream that depends on the seed alone, so that tests
// repeat.
func Randomness(seed int64) *rand.ChaCha8 {
	var key [32]byte
	copy(key[:], fmt.Sprint(seed))
	return rand.NewChaCha8(key)
}

// MustHideSecrets fails if a text holds a secret key in a form that can be
// used.
func MustHideSecrets(t testing.TB, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		secret := testkeys.New(name).Secret
		raw, err := hex.DecodeString(secret)
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Trim(fmt.Sprint(raw), "[]")
		for _, form := range []string{secret, strings.ToUpper(secret), string(raw), list, strings.ReplaceAll(list, " ", ", ")} {
			if strings.Contains(text, form) {
				t.Errorf("the secret of %s is shown", name)
			}
		}
	}
}
