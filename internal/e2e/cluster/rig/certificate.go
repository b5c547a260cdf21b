package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// certificate is one for 127.0.0.1 that signs itself.
type certificate struct {
	file, key string
	client    *http.Client // which trusts it
}

func newCertificate(dir string) (c certificate, err error) {
	c.file, c.key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, fmt.Errorf("key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return c, fmt.Errorf("certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return c, fmt.Errorf("key: %w", err)
	}
	for _, one := range []struct {
		path, kind string
		bytes      []byte
	}{{c.file, "CERTIFICATE", der}, {c.key, "PRIVATE KEY", secret}} {
		if err := os.WriteFile(one.path, pem.EncodeToMemory(&pem.Block{Type: one.kind, Bytes: one.bytes}), 0o600); err != nil {
			return c, fmt.Errorf("certificate: %w", err)
		}
	}
	trusted := x509.NewCertPool()
	own, err := x509.ParseCertificate(der)
	if err != nil {
		return c, fmt.Errorf("certificate: %w", err)
	}
	trusted.AddCert(own)
	c.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}, Timeout: 15 * time.Second}
	return c, nil
}
