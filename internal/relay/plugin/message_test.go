package plugin

import (
	"context"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/gate"
)

// TestQuestion: the line is strfry's, and one line to whoever reads it.
func TestQuestion(t *testing.T) {
	author, other := strings.Repeat("ab", 32), strings.Repeat("12", 32)
	ev := event(1)
	ev.Content = "one\ntwo\u2028three\u2029four\u0085five\x01\x00"
	for _, c := range []struct {
		addr               string
		keys               []string
		kind, info, authed string
	}{
		{"192.0.2.7", nil, "IP4", "192.0.2.7", ""},
		{"::ffff:192.0.2.7", []string{other}, "IP4", "192.0.2.7", other},
		{"2001:db8::1%eth0", []string{other, author}, "IP6", "2001:db8::1", author},
		{"", nil, "Stored", "", ""},
	} {
		addr, _ := netip.ParseAddr(c.addr)
		o := Options{
			Addr:   func(context.Context) netip.Addr { return addr },
			Reader: func(context.Context) gate.Reader { return gate.NewReader(c.keys...) },
		}.withDefaults()
		line := string(o.question(t.Context(), ev, time.Unix(1700000123, 999)))
		if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\n\r\u2028\u2029\u0085\x00\x01") || !strings.HasSuffix(line, "}\n") {
			t.Errorf("not one line: %q", line)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		inner := got["event"].(map[string]any)
		if inner["content"] != ev.Content || inner["id"] != ev.ID || inner["sig"] != ev.Sig {
			t.Errorf("the event is %v", inner)
		}
		authed, _ := got["authed"].(string)
		if got["type"] != "new" || got["receivedAt"] != 1700000123.0 || got["sourceType"] != c.kind || got["sourceInfo"] != c.info || authed != c.authed {
			t.Errorf("%+v gives %s", c, line)
		}
	}
}

func TestMessage(t *testing.T) {
	for msg, want := range map[string]string{
		"":                                      "blocked: not accepted by this relay's write policy",
		"blocked: not on white-list":            "blocked: not on white-list",
		"auth-required:sign in":                 "auth-required: sign in",
		"no spam please":                        "blocked: no spam please",
		"Sorry: no":                             "blocked: Sorry: no",
		"duplicate: already have it":            "blocked: duplicate: already have it", // it is not stored
		"pow: 20 bits":                          "pow: 20 bits",
		"two\nlines\x1b[31m":                    "blocked: two lines [31m",
		"blocked: " + strings.Repeat("é", 1000): "",
	} {
		got := message(msg)
		if want == "" {
			if len(got) > maxMessage+16 || !strings.HasSuffix(got, "…") {
				t.Errorf("%d bytes", len(got))
			}
			continue
		}
		if got != want {
			t.Errorf("message(%q) = %q, want %q", msg, got, want)
		}
	}
}
