package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// stage is where the demo plays: it shows what is asked and answered, and counts
// what is wrong. It is the relaytest.T of everything that it starts.
type stage struct {
	out    io.Writer
	start  time.Time
	relay  *relaytest.Child
	memory generated
	checks int
	wrong  int
	undo   []func()
}

// gaveUp ends the demo from anywhere.
type gaveUp struct{}

// Helper does nothing: the demo shows no file names.
func (s *stage) Helper() {}

// Logf shows a remark.
func (s *stage) Logf(format string, args ...any) { s.say(format, args...) }

// Errorf shows and counts a failure.
func (s *stage) Errorf(format string, args ...any) {
	s.wrong++
	fmt.Fprintf(s.out, "  WRONG: %s\n", fmt.Sprintf(format, args...))
}

// Fatalf shows a failure and ends the demo.
func (s *stage) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	panic(gaveUp{})
}

// Cleanup registers what is undone at the end, last first.
func (s *stage) Cleanup(f func()) { s.undo = append(s.undo, f) }

// TempDir makes a folder that is removed at the end.
func (s *stage) TempDir() string {
	dir, err := os.MkdirTemp("", "engramd-demo-")
	if err != nil {
		s.Fatalf("temporary folder: %v", err)
	}
	s.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			s.Errorf("remove the temporary folder: %v", err)
		}
	})
	return dir
}

func (s *stage) end() {
	for i := len(s.undo) - 1; i >= 0; i-- {
		s.undo[i]()
	}
	if err := relaytest.Clean(); err != nil {
		s.Errorf("%v", err)
	}
}

func (s *stage) chapter(title string) {
	fmt.Fprintf(s.out, "\n== %s\n", title)
}

func (s *stage) say(format string, args ...any) {
	fmt.Fprintf(s.out, "  %s\n", fmt.Sprintf(format, args...))
}

// check shows a claim and whether it holds.
func (s *stage) check(ok bool, format string, args ...any) {
	s.checks++
	mark := "ok   "
	if !ok {
		mark = "WRONG"
		s.wrong++
	}
	fmt.Fprintf(s.out, "     %s %s\n", mark, fmt.Sprintf(format, args...))
}

// hex64 finds ids, pubkeys and d tags, which are cut short when shown.
var hex64 = regexp.MustCompile(`[0-9a-f]{64,128}`)

// readable puts names where known pubkeys stand and cuts other hex and long
// texts short.
func readable(text string) string {
	for _, one := range cast() {
		text = strings.ReplaceAll(text, one.key.Pub, "<"+one.name+">")
	}
	text = hex64.ReplaceAllStringFunc(text, func(h string) string { return h[:8] + "…" })
	if runes := []rune(text); len(runes) > 230 {
		text = string(runes[:230]) + "…"
	}
	return text
}

func (s *stage) ask(frame ...any) {
	text, err := json.Marshal(frame)
	if err != nil {
		s.Fatalf("encode: %v", err)
	}
	fmt.Fprintf(s.out, "  → %s\n", readable(string(text)))
}

func (s *stage) answer(format string, args ...any) {
	fmt.Fprintf(s.out, "  ← %s\n", readable(fmt.Sprintf(format, args...)))
}

// dial connects and proves the keys.
func (s *stage) dial(keys ...role) *relaytest.Client {
	c, err := relaytest.Dial(s.relay.URL)
	if err != nil {
		s.Fatalf("dial: %v", err)
	}
	s.Cleanup(c.Close)
	s.answer(`["AUTH","%s…"]`, c.Challenge[:8])
	for _, r := range keys {
		s.say("→ [\"AUTH\",{kind 22242 signed by <%s>, for this relay and this challenge}]", r.name)
		err := c.Auth(r.key)
		s.check(err == nil, "the relay knows <%s> now", r.name)
	}
	return c
}

// req shows a REQ and what came of it.
func (s *stage) req(c *relaytest.Client, filters ...any) relaytest.Answer {
	s.ask(append([]any{"REQ", "q"}, filters...)...)
	a, err := c.Query(filters...)
	if err != nil {
		s.Fatalf("REQ: %v", err)
	}
	for i, ev := range a.Events {
		if i == 3 {
			s.answer("… and %d more", len(a.Events)-3)
			break
		}
		s.answer(`["EVENT","q",%s]`, ev)
	}
	if a.EOSE {
		s.answer(`["EOSE","q"] after %d events`, len(a.Events))
	} else {
		s.answer(`["CLOSED","q",%q]`, a.Closed)
	}
	return a
}

// count shows a COUNT and its answer.
func (s *stage) count(c *relaytest.Client, filters ...any) (n int64, closed string) {
	s.ask(append([]any{"COUNT", "n"}, filters...)...)
	n, closed, err := c.Count(filters...)
	if err != nil {
		s.Fatalf("COUNT: %v", err)
	}
	if closed != "" {
		s.answer(`["CLOSED","n",%q]`, closed)
	} else {
		s.answer(`["COUNT","n",{"count":%d}]`, n)
	}
	return n, closed
}

// publish shows an EVENT and its OK.
func (s *stage) publish(c *relaytest.Client, what string, ev *nostr.Event) relaytest.OK {
	s.say("→ [\"EVENT\",{kind %d: %s}]", ev.Kind, what)
	ok, err := c.Publish(ev)
	if err != nil {
		s.Fatalf("EVENT: %v", err)
	}
	s.answer(`["OK","%s",%v,%q]`, ev.ID, ok.True, ok.Message)
	return ok
}

// refusedWith checks a CLOSED.
func (s *stage) refusedWith(a relaytest.Answer, prefix string) {
	s.check(!a.EOSE && len(a.Events) == 0 && strings.HasPrefix(a.Closed, prefix), "refused with %q, and nothing was sent", prefix)
}
