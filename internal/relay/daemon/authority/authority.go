// Package authority is by what the nodes and the log's servers of one cluster know
// each other, and how a further machine is let in: an authority that signs their
// certificates, one-time tokens, and a door that is open only while there is one.
//
// A token names the door, pins the authority's certificate and is for one name. Who
// joins makes its own keys, proves the token over TLS that only this authority can
// have signed, and is given everything sealed to a key of that very request.
package authority

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"time"

	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/snapshot/bundle"
)

// lasts is how long certificates do: nothing renews them but another authority.
const lasts = 10 * 365 * 24 * time.Hour

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

var errKey = errors.New("not an authority's key")

// New makes one, under a name that no other has.
func New() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &Authority{key: key}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "engramd cluster " + rand.Text()}, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert, err = a.sign(template, template, key.Public())
	return a, err
}

func (a *Authority) sign(template, parent *x509.Certificate, public any) (*x509.Certificate, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-24*time.Hour), now.Add(lasts)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Issue makes the certificate of a host, as a server and as a client.
func (a *Authority) Issue(host string, public any) (*x509.Certificate, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: host}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	return a.sign(template, a.cert, public)
}

// Certificate is the authority's own, as PEM.
func (a *Authority) Certificate() string { return PEM("CERTIFICATE", a.cert.Raw) }

// Print is what tokens pin.
func (a *Authority) Print() [32]byte { return sha256.Sum256(a.cert.Raw) }

// Own makes a certificate of a host and its key, as PEM.
func (a *Authority) Own(host string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	c, err := a.Issue(host, private.Public())
	if err != nil {
		return "", "", err
	}
	key, err = KeyPEM(private)
	return PEM("CERTIFICATE", c.Raw), key, err
}

// door is the TLS configuration of a door at a host, by a key of its own.
func (a *Authority) door(host string) (*tls.Config, error) {
	cert, key, err := a.Own(host)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(cert+a.Certificate()), []byte(key))
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true}, err
}

// PEM writes a block.
func PEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// KeyPEM writes a private key.
func KeyPEM(key *ecdsa.PrivateKey) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	return PEM("PRIVATE KEY", der), err
}

// Save writes the authority with its key to a new file, for some recipients only if
// there are any.
func (a *Authority) Save(path string, to bundle.Recipients) error {
	key, err := KeyPEM(a.key)
	if err != nil {
		return err
	}
	text := []byte(a.Certificate() + key)
	defer clear(text)
	if !to.Empty() {
		var sealed bytes.Buffer
		if err := to.Encrypt(&sealed, bytes.NewReader(text)); err != nil {
			return err
		}
		return keyfile.Create(path, sealed.Bytes())
	}
	return keyfile.Create(path, text)
}

// Load reads what Save wrote.
func Load(path string, with bundle.Identities) (*Authority, error) {
	text, err := keyfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer clear(text)
	if bytes.HasPrefix(text, []byte("age-encryption.org/")) {
		plain, err := with.Decrypt(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(plain)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errKey)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s: %w", path, errKey)
	}
	return &Authority{pair.Leaf, key}, nil
}
