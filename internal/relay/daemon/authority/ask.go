package authority

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hpke"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// ErrPinned means that who answers is not the door that the token names.
var ErrPinned = errors.New("the server is not the authority of the token")

// Ask has a token's door let this machine in, and returns what it is given and the key
// of its certificate, as PEM.
func Ask(ctx context.Context, t Token) (p Parcel, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return p, "", err
	}
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, private)
	if err != nil {
		return p, "", err
	}
	opener, err := sealing.kem.GenerateKey()
	if err != nil {
		return p, "", err
	}
	text, err := json.Marshal(request{t.Secret[:], t.Name, csr, opener.PublicKey().Bytes()})
	if err != nil {
		return p, "", err
	}
	a, err := talk(ctx, t, text)
	if err != nil {
		return p, "", fmt.Errorf("join by %s: %w", t.Door, err)
	}
	plain, err := hpke.Open(opener, sealing.kdf, sealing.aead, sealing.info, a.Sealed)
	if err == nil {
		err = json.Unmarshal(plain, &p)
		clear(plain)
	}
	if err != nil {
		return p, "", fmt.Errorf("join by %s: %w", t.Door, err)
	}
	key, err = KeyPEM(private)
	return p, key, err
}

// talk sends a request to the door, once it has proved that it is the token's.
func talk(ctx context.Context, t Token, text []byte) (a answer, err error) {
	host, _, err := net.SplitHostPort(t.Door)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, talkLimit)
	defer cancel()
	d := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: host,
		InsecureSkipVerify: true, // VerifyConnection knows the one authority that there is
		VerifyConnection:   func(s tls.ConnectionState) error { return pinned(s.PeerCertificates, host, t.Print) },
	}}
	conn, err := d.DialContext(ctx, "tcp", t.Door)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(talkLimit))
	if _, err := conn.Write(text); err != nil {
		return a, err
	}
	if err := conn.(*tls.Conn).CloseWrite(); err != nil {
		return a, err
	}
	got, err := io.ReadAll(io.LimitReader(conn, mostAnswer+1))
	if err != nil {
		return a, err
	}
	if len(got) > mostAnswer || json.Unmarshal(got, &a) != nil {
		return a, errors.New("the answer cannot be read")
	}
	if a.Error == ErrToken.Error() {
		return a, ErrToken
	}
	if a.Error != "" || a.Sealed == nil {
		return a, errors.New("refused; engramd cluster token prints the reason there")
	}
	return a, nil
}

// pinned returns nil if the certificates end with the one whose hash is print, and it
// has signed the first for the host.
func pinned(chain []*x509.Certificate, host string, print [32]byte) error {
	last := len(chain) - 1
	if last != 1 || sha256.Sum256(chain[last].Raw) != print {
		return ErrPinned
	}
	roots := x509.NewCertPool()
	roots.AddCert(chain[last])
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		return errors.Join(ErrPinned, err)
	}
	return nil
}
