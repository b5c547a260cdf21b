package redact

import (
	"bytes"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const someKey = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"

func TestTags(t *testing.T) {
	a, b := NewTags(), NewTags()
	if tag := a.Of(someKey); !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(tag) || strings.Contains(someKey, tag) {
		t.Errorf("tag %q", tag)
	}
	if a.Of(someKey) != a.Of(someKey) || a.Of(someKey) == b.Of(someKey) {
		t.Error("a tag must be the same for one salt and another for the next")
	}
	if a.Of("") != "" || (&Tags{}).Of(someKey) != "" || (*Tags)(nil).Of(someKey) != "" {
		t.Error("nobody, or nothing without a salt, has a tag")
	}
	if got := a.List(nil); got != "nobody" {
		t.Errorf("List of nobody is %q", got)
	}
	if got := a.List([]string{"1", "2", "3", "4", "5", "6"}); strings.Count(got, ",") != maxListed || !strings.HasSuffix(got, "…") {
		t.Errorf("List is not bounded: %q", got)
	}
}

func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"restricted: only listed keys may write here":                               "restricted: only listed keys may write here",
		"blocked: " + someKey + " is not on the list":                               "blocked: … is not on the list",
		`invalid: unknown key "my secret \" plan" there`:                            `invalid: unknown key "…" there`,
		`invalid: member "pubkey" is missing, says 'x'`:                             `invalid: member "pubkey" is missing, says "…"`,
		"it says 'hello world' and `more`":                                          `it says "…" and "…"`,
		"ask nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5 again": "ask … again",
		"a\nforged line\x1b[2J":                                                     "a forged line [2J",
		"bad \xff utf8":                                                             "bad � utf8",
	} {
		if got := Reason(text); got != want {
			t.Errorf("Reason(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Reason(strings.Repeat("ü ", 5000)); len(got) > maxReason+8 || strings.ContainsRune(got, '\uFFFD') {
		t.Errorf("%d bytes of a long reason", len(got))
	}
}

// TestLimit: a flood at debug leaves a bounded log that says how much is
// missing, and never costs a line at info.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := slog.New(Limit(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}), 10, 20)).With("part", "test")
		log.Debug("a library says "+someKey, "err", errors.New("no "+someKey), "key", someKey, "n", 7)
		if got := out.String(); strings.Contains(got, someKey) || !strings.Contains(got, "n=7") {
			t.Errorf("at debug: %s", got)
		}
		out.Reset()
		for range 1000 {
			log.Debug("refused")
			log.Info(Access)
		}
		log.Info("important")
		if n := strings.Count(out.String(), "\n"); n != 20 {
			t.Errorf("%d lines of a flood, want 19 and the important one", n)
		}
		if !strings.Contains(out.String(), "important") {
			t.Error("a line at info was dropped")
		}
		time.Sleep(time.Second)
		out.Reset()
		log.Debug("later")
		if got := out.String(); !strings.Contains(got, "lines=1981") || !strings.Contains(got, "later") || strings.Count(got, "\n") != 2 {
			t.Errorf("after the flood: %q", got)
		}
	})
}
