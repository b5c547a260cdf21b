package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxHandshake bounds the relay's answer to the upgrade, in bytes.
const maxHandshake = 16 << 10

// keyGUID is what RFC 6455, section 1.3, appends to the client's nonce.
const keyGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// connect opens the socket, and TLS where the URL says wss.
func connect(ctx context.Context, text string) (socket net.Conn, host, path string, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return nil, "", "", fmt.Errorf("%w: %q is not a ws:// or wss:// URL", ErrOptions, text)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "wss" {
		socket, err = (&tls.Dialer{}).DialContext(ctx, "tcp", address)
	} else {
		socket, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, "", "", fmt.Errorf("connect: %w", err)
	}
	return socket, u.Host, u.RequestURI(), nil
}

// shake upgrades the connection (RFC 6455, section 4.1).
func (c *Conn) shake(host, path string) error {
	var nonce [16]byte
	if _, err := io.ReadFull(c.rand, nonce[:]); err != nil {
		return fmt.Errorf("nonce: %w", err)
	}
	key := base64.StdEncoding.EncodeToString(nonce[:])
	request := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + "\r\n\r\n"
	if err := c.write([]byte(request)); err != nil {
		return err
	}
	head, err := c.head()
	if err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("%w: status %d", ErrRefused, answer.StatusCode)
	}
	sum := sha1.Sum([]byte(key + keyGUID))
	if !strings.EqualFold(answer.Header.Get("Upgrade"), "websocket") ||
		answer.Header.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) ||
		answer.Header.Get("Sec-WebSocket-Extensions") != "" {
		return fmt.Errorf("%w: not the upgrade that was asked for", ErrProtocol)
	}
	return nil
}

// head takes the head of an HTTP answer out of the buffer; what follows stays.
func (c *Conn) head() ([]byte, error) {
	const blank = "\r\n\r\n"
	for {
		if i := bytes.Index(c.buf[c.start:c.end], []byte(blank)); i >= 0 {
			head := c.buf[c.start : c.start+i+len(blank)]
			c.start += len(head)
			return head, nil
		}
		if c.end-c.start >= maxHandshake {
			return nil, fmt.Errorf("%w: more than %d bytes of HTTP headers", ErrProtocol, maxHandshake)
		}
		if err := c.fill(c.end - c.start + 1); err != nil {
			return nil, err
		}
	}
}
