package relayhttp

import (
	"errors"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var errTimeout = os.ErrDeadlineExceeded

const patience = time.Minute

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Log(err)
		}
	})
	return conn
}

func TestPage(t *testing.T) {
	h, _ := newHandler(t, func(f *fakeRelay, o *Options) {
		f.doc.Contact = "mailto:op@example.com"
		f.doc.PubKey = strings.Repeat("ab", 32)
		o.URLs = []string{"wss://relay.example.com", "ws://other.example"}
	})
	w := get(h, "GET", "/", "Accept", "text/html")
	body := w.Body.String()
	for _, want := range []string{
		"<h1>test relay</h1>", "for tests", "wss://relay.example.com", "ws://other.example", "curl -H", "https://relay.example.com",
		"<b>01</b>", "<b>42</b>", "256 KiB", "mailto:op@example.com", "engramd v1", strings.Repeat("ab", 32),
	} {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if strings.Contains(body, "limited to keys") {
		t.Error("the page says that writing is restricted, which it is not")
	}
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestPageLoadsNothing: no script, no style, font or picture from elsewhere,
// and the policy would stop them.
func TestPageLoadsNothing(t *testing.T) {
	h, _ := newHandler(t, nil)
	w := get(h, "GET", "/")
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "style-src 'sha256-", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %q", policy, want)
		}
	}
	if m := regexp.MustCompile(`(?i)<script|src=|@import|url\(|<link[^>]+href="[^d]`).FindString(w.Body.String()); m != "" {
		t.Errorf("the page holds %q", m)
	}
	// The hash is that of what stands between the style tags.
	if !strings.Contains(w.Body.String(), "<style>"+pageCSS+"</style>") {
		t.Error("the style sheet is not in the page as it was hashed")
	}
}

func TestPageEscapesWhatTheOperatorWrote(t *testing.T) {
	h, _ := newHandler(t, func(f *fakeRelay, o *Options) {
		f.doc.Name = `<script>alert(1)</script>`
		f.doc.Description = `"><img src=x onerror=alert(1)>`
		f.doc.Contact = `javascript:alert(1)`
		f.doc.Limitation.RestrictedWrites = true
		o.URLs = nil
	})
	body := get(h, "GET", "/").Body.String()
	for _, bad := range []string{"<script", "<img", `href="javascript`} {
		if strings.Contains(body, bad) {
			t.Errorf("page holds %q", bad)
		}
	}
	if !strings.Contains(body, "limited to keys") {
		t.Error("the page does not say that writing is restricted")
	}
}
