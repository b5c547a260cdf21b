package authority

import (
	"context"
	"crypto/hpke"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Parcel is what a machine is given that joins.
type Parcel struct {
	CA       string            `json:"ca"`          // certificates, as PEM
	Cert     string            `json:"certificate"` // its own
	Hosts    []string          `json:"hosts"`       // of the log's servers
	Stream   string            `json:"stream"`
	Replicas int               `json:"replicas,omitempty"` // of it, 0: as many as hosts
	Login    string            `json:"login"`              // seed of the user that nodes are
	System   string            `json:"system"`             // and of the one who may look at the servers
	Keys     map[string]string `json:"keys"`               // files of the data folder
	Settings string            `json:"settings"`
}

// request is what a machine says that joins. It may come from anybody.
type request struct {
	Secret []byte `json:"secret"`
	Name   string `json:"name"`
	CSR    []byte `json:"csr"` // for the key of its certificate
	Seal   []byte `json:"seal"`
}

type answer struct {
	Sealed []byte `json:"sealed,omitempty"`
	Error  string `json:"error,omitempty"`
}

const (
	mostRequest = 8 << 10
	mostAnswer  = 1 << 20
	talkLimit   = 10 * time.Second // for one conversation, with the handshake
	mostTalks   = 16               // at a time
	mostTries   = 60               // of one address, as long as the door is open
	mostKnown   = 4096             // addresses whose tries are counted
	lookEvery   = time.Second      // whether a token is open still
)

// sealing is by which what is given is sealed, beside TLS.
var sealing = struct {
	kem  hpke.KEM
	kdf  hpke.KDF
	aead hpke.AEAD
	info []byte
}{hpke.MLKEM768X25519(), hpke.HKDFSHA256(), hpke.AES256GCM(), []byte("engramd join")}

var errRequest = errors.New("not a request to join")

// parseRequest reads a request. Nothing in it is worth anything before its secret is
// known to be a token's.
func parseRequest(text []byte) (q request, secret [32]byte, err error) {
	if len(text) > mostRequest || json.Unmarshal(text, &q) != nil || len(q.Secret) != len(secret) || CheckHost(q.Name) != nil {
		return request{}, secret, errRequest
	}
	return q, [32]byte(q.Secret), nil
}

// Door lets machines in.
type Door struct {
	Authority *Authority
	Host      string // under which it is known
	Book      Book
	Give      func() (Parcel, error)     // all but the certificate
	Tell      func(name string, _ error) // who was let in, or came in vain; may be nil
}

// Serve lets machines in until no token is open, or ctx ends. It closes the listener.
func (d *Door) Serve(ctx context.Context, l net.Listener) error {
	config, err := d.Authority.door(d.Host)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	var talks sync.WaitGroup
	defer talks.Wait()
	defer cancel()
	context.AfterFunc(ctx, func() { _ = l.Close() })
	talks.Go(func() { d.watch(ctx, cancel) })
	free, tries := make(chan struct{}, mostTalks), map[netip.Prefix]int{}
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				err = nil
			}
			return err
		}
		from := prefix(conn.RemoteAddr())
		if len(tries) >= mostKnown {
			clear(tries)
		}
		if tries[from]++; tries[from] > mostTries {
			_ = conn.Close()
			continue
		}
		select {
		case free <- struct{}{}:
			talks.Go(func() {
				defer func() { <-free }()
				d.talk(ctx, tls.Server(conn, config))
			})
		default:
			_ = conn.Close()
		}
	}
}

// prefix is whose tries are counted together.
func prefix(a net.Addr) netip.Prefix {
	at, _ := netip.ParseAddrPort(a.String())
	ip := at.Addr().Unmap()
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits)
	return p
}

// watch ends the door when no token is open.
func (d *Door) watch(ctx context.Context, cancel func()) {
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if open, err := d.Book.List(ctx); err != nil || len(open) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (d *Door) talk(ctx context.Context, conn *tls.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), talkLimit) // who was let in is answered
	defer cancel()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(talkLimit))
	text, err := io.ReadAll(io.LimitReader(conn, mostRequest+1))
	if err != nil {
		return
	}
	var a answer
	q, secret, err := parseRequest(text)
	if err == nil {
		a.Sealed, err = d.let(ctx, q, secret)
	}
	if err != nil {
		a.Error = "no"
		if errors.Is(err, ErrToken) {
			a.Error = ErrToken.Error()
		}
	}
	if d.Tell != nil {
		d.Tell(q.Name, err)
	}
	if out, err := json.Marshal(a); err == nil {
		_, _ = conn.Write(out)
		_ = conn.CloseWrite()
	}
}

// let takes the token first: what fails behind it needs another one.
func (d *Door) let(ctx context.Context, q request, secret [32]byte) (sealed []byte, err error) {
	if err := d.Book.Take(ctx, secret, q.Name); err != nil {
		return nil, err
	}
	csr, err := x509.ParseCertificateRequest(q.CSR)
	if err == nil {
		err = csr.CheckSignature()
	}
	if err != nil {
		return nil, errors.Join(errRequest, err)
	}
	to, err := sealing.kem.NewPublicKey(q.Seal)
	if err != nil {
		return nil, errors.Join(errRequest, err)
	}
	cert, err := d.Authority.Issue(q.Name, csr.PublicKey)
	if err != nil {
		return nil, err
	}
	p, err := d.Give()
	if err != nil {
		return nil, err
	}
	p.Cert = PEM("CERTIFICATE", cert.Raw)
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	defer clear(text)
	return hpke.Seal(to, sealing.kdf, sealing.aead, sealing.info, text)
}
