package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// transport returns the TLS configuration, which is used if a URL or a file asks for
// it.
func (o *Options) transport() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLSCA != "" {
		text, err := os.ReadFile(o.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("%w: certificates: %w", ErrOptions, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%w: %s holds no certificate", ErrOptions, o.TLSCA)
		}
	}
	if o.TLSCert != "" {
		pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
		if err != nil {
			return nil, fmt.Errorf("%w: certificate: %w", ErrOptions, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// setup is how the log's servers are reached, and what they and the stream must
// be.
type setup struct {
	o   Options
	tls *tls.Config
}

// options returns those of one connection.
func (c *setup) options(name, credentials string) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name(name), nats.Timeout(dialLimit), nats.FlusherTimeout(c.o.AppendTimeout),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1),      // or what was given up is sent later
		nats.IgnoreDiscoveredServers(), // the URLs are the operator's, and so are the names in certificates
		nats.IgnoreAuthErrorAbort(),    // credentials can be renewed
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.o.Log.Debug("NATS complains", "err", err) }),
	}
	if user, err := login(credentials); err != nil {
		return nil, err
	} else if user != nil {
		options = append(options, user)
	}
	secure := c.o.TLSCA != "" || c.o.TLSCert != ""
	for _, one := range c.o.URLs {
		secure = secure || strings.HasPrefix(one, "tls:")
	}
	if secure {
		options = append(options, nats.Secure(c.tls.Clone()))
	}
	return options, nil
}

// connect tries until ctx ends.
func (c *setup) connect(ctx context.Context, name, credentials string, more ...nats.Option) (*nats.Conn, error) {
	for {
		options, err := c.options(name, credentials)
		if err != nil {
			return nil, err
		}
		nc, err := nats.Connect(strings.Join(c.o.URLs, ","), append(options, more...)...)
		if err == nil {
			return nc, nil
		}
		if errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrSecureConnWanted) {
			return nil, fmt.Errorf("connect to NATS: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to NATS: %w: %w", ErrAway, err)
		case <-time.After(reconnectWait):
		}
	}
}
