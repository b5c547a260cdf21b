package model

import (
	"net/http"
	"testing"
	"time"
)

// TestAfter: when a server wants to be asked again, by either form of the header;
// what is neither says nothing.
func TestAfter(t *testing.T) {
	const now = "Mon, 23 Nov 2026 06:00:00 GMT"
	for text, want := range map[string]time.Duration{
		"":                              0,
		"120":                           2 * time.Minute,
		"0":                             0,
		"-5":                            0,
		"99999999999":                   longest,
		"99999999999999999999999":       0,
		"Mon, 23 Nov 2026 06:01:00 GMT": time.Minute,
		"Mon, 23 Nov 2026 05:01:00 GMT": 0,
		"Mon, 23 Nov 2037 05:01:00 GMT": longest,
		"soon":                          0,
	} {
		h := http.Header{"Retry-After": {text}, "Date": {now}}
		if got := after(h); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := after(http.Header{"Retry-After": {now}}); got != 0 {
		t.Errorf("a time without the server's own: %v", got)
	}
}
