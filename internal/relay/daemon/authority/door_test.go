package authority

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"filippo.io/age"

	"engramd/internal/snapshot/bundle"
)

// hall is a door with an authority behind it.
type hall struct {
	*Door
	t    *testing.T
	addr string
	gone chan error
}

func newHall(t *testing.T) *hall {
	t.Helper()
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := book(t)
	h := &hall{t: t, gone: make(chan error, 1)}
	h.Door = &Door{Authority: a, Host: "127.0.0.1", Book: b, Give: func() (Parcel, error) {
		return Parcel{CA: a.Certificate(), Stream: "engramd", Keys: map[string]string{"relay.key": "a key"}}, nil
	}}
	return h
}

// token opens one, and the door with the first.
func (h *hall) token(name string) Token {
	h.t.Helper()
	secret, err := h.Book.Add(h.t.Context(), name)
	if err != nil {
		h.t.Fatal(err)
	}
	if h.addr == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			h.t.Fatal(err)
		}
		h.addr = l.Addr().String()
		ctx, cancel := context.WithCancel(context.Background())
		go func() { h.gone <- h.Serve(ctx, l) }()
		h.t.Cleanup(cancel)
	}
	return Token{Door: h.addr, Print: h.Authority.Print(), Secret: secret, Name: name}
}

// issued is a certificate of a host.
func issued(t *testing.T, by *Authority, host string) *x509.Certificate {
	t.Helper()
	cert, _, err := by.Own(host)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(cert))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, token Token, want error) {
	t.Helper()
	p, key, err := Ask(t.Context(), token)
	if !errors.Is(err, want) || err != nil && (key != "" || p.Cert != "" || p.Keys != nil) {
		t.Errorf("%+v, %v; want %v", p, err, want)
	}
	if err != nil && strings.Contains(err.Error(), token.String()) {
		t.Errorf("%v shows the token", err)
	}
}

// Who has a token is given a certificate for its name and its own key, once, and what
// else is given; the door closes behind the last one.
func TestLetIn(t *testing.T) {
	h := newHall(t)
	token := h.token("b.example")
	wrong := token
	wrong.Name = "c.example"
	ask(t, wrong, ErrToken)
	wrong = token
	wrong.Secret[0]++
	ask(t, wrong, ErrToken)
	wrong = token
	wrong.Print[0]++
	ask(t, wrong, ErrPinned)
	other := h.token("d.example")

	p, key, err := Ask(t.Context(), token)
	if err != nil || p.Keys["relay.key"] != "a key" {
		t.Fatalf("%+v, %v", p, err)
	}
	pair, err := tls.X509KeyPair([]byte(p.Cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(p.CA))
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "b.example", KeyUsages: []x509.ExtKeyUsage{use}}); err != nil {
			t.Error(err)
		}
	}
	if pair.Leaf.VerifyHostname("d.example") == nil || pair.Leaf.IsCA {
		t.Error("it is good for more")
	}
	ask(t, token, ErrToken)
	ask(t, other, nil)
	if err := <-h.gone; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", h.addr); err == nil {
		conn.Close()
		t.Error("the door is open, and no token is")
	}
}

// A request that was let in is let in no second time, from whoever has it; what is
// given then would be sealed to the first one's key all the same.
func TestLetInAtOnceAndReplayed(t *testing.T) {
	h := newHall(t)
	token := h.token("b.example")
	h.token("c.example") // which keeps it open
	text, err := json.Marshal(request{Secret: token.Secret[:], Name: token.Name})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := talk(t.Context(), token, text); err == nil {
		t.Errorf("%+v without keys", a) // and the token is used up
	}
	ask(t, token, ErrToken)
	token = h.token("b.example")
	var in atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, _, err := Ask(context.Background(), token); err == nil {
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

// Who has another authority, or a certificate of this one for another name, is not the
// door.
func TestPinned(t *testing.T) {
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	chain := func(by *Authority, host string, last *Authority) []*x509.Certificate {
		return []*x509.Certificate{issued(t, by, host), last.cert}
	}
	for name, c := range map[string]struct {
		chain []*x509.Certificate
		ok    bool
	}{
		"the door":                   {chain(a, "a.example", a), true},
		"another machine":            {chain(a, "b.example", a), false},
		"another authority":          {chain(b, "a.example", b), false},
		"another one's, and ours":    {chain(b, "a.example", a), false},
		"ours, and another one's":    {chain(a, "a.example", b), false},
		"without the authority":      {chain(a, "a.example", a)[:1], false},
		"the authority alone":        {[]*x509.Certificate{a.cert}, false},
		"nothing":                    {nil, false},
		"the authority as a machine": {[]*x509.Certificate{a.cert, a.cert}, false},
	} {
		if err := pinned(c.chain, "a.example", sha256.Sum256(a.cert.Raw)); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrPinned) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is no request costs a bounded number of bytes and tries, and uses up nothing.
func TestDoorRefusesGarbage(t *testing.T) {
	h := newHall(t)
	token := h.token("b.example")
	for _, text := range []string{"", "{}", "null", `{"secret":"","name":"b.example"}`, strings.Repeat(" ", mostRequest+1), "\x00"} {
		if a, err := talk(t.Context(), token, []byte(text)); err == nil {
			t.Errorf("%.20q: %+v", text, a)
		}
	}
	if conn, err := net.Dial("tcp", h.addr); err == nil { // no TLS
		_, _ = io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n")
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	ask(t, token, nil)

	h = newHall(t)
	token = h.token("b.example")
	for range mostTries {
		conn, err := net.Dial("tcp", h.addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if _, _, err := Ask(t.Context(), token); err == nil {
		t.Error("there is no end of tries")
	}
	if open, err := h.Book.List(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("%+v, %v", open, err)
	}
}

func FuzzParseRequest(f *testing.F) {
	secret := [32]byte{7}
	good, _ := json.Marshal(request{secret[:], "b.example", []byte("csr"), []byte("seal")})
	f.Add(good)
	f.Add([]byte(`{"secret":"AA==","name":"b"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, secret, err := parseRequest(text)
		if err == nil && (CheckHost(q.Name) != nil || [32]byte(q.Secret) != secret || len(text) > mostRequest) {
			t.Fatalf("%q: %+v", text, q)
		}
	})
}

// The authority's key is its file's owner's alone, or some recipient's, and comes back.
func TestAuthorityIsKept(t *testing.T) {
	own, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	ids, err := bundle.ParseIdentities(strings.NewReader(own.String()))
	if err != nil {
		t.Fatal(err)
	}
	to, err := bundle.ParseRecipients([]string{own.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]bundle.Recipients{"plain": {}, "encrypted": to} {
		a, err := New()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), KeyFile)
		if err := a.Save(path, to); err != nil {
			t.Fatal(err)
		}
		if err := a.Save(path, to); err == nil {
			t.Errorf("%s: it was overwritten", name)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if _, err := Load(path, bundle.Identities{}); (err == nil) == (name == "encrypted") {
			t.Errorf("%s, without an identity: %v", name, err)
		}
		b, err := Load(path, ids)
		if err != nil || b.Print() != a.Print() {
			t.Fatalf("%s: %v", name, err)
		}
		cert := issued(t, b, "b.example")
		if cert.CheckSignatureFrom(a.cert) != nil {
			t.Errorf("%s: not signed by it", name)
		}
		if err := os.WriteFile(path, []byte(PEM("CERTIFICATE", cert.Raw)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path, ids); !errors.Is(err, errKey) {
			t.Errorf("%s: a certificate alone: %v", name, err)
		}
	}
}
