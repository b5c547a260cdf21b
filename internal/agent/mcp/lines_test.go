package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"engramd/internal/agent/mcp/stdio"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// answered is a line of a server: an id as it stands there, and the code of an error.
type answered struct {
	ID    json.RawMessage
	Error struct {
		Code    int
		Message string
	}
}

func (a answered) String() string { return fmt.Sprintf("%s %d", a.ID, a.Error.Code) }

// spoken has a server answer what a peer says, which then closes its side. The answer to the
// greeting is left out.
func spoken(t *testing.T, s *Server, in string) (all []answered, text string) {
	t.Helper()
	var out bytes.Buffer
	if err := s.Run(t.Context(), strings.NewReader(hello+in), &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var a answered
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if string(a.ID) != `"hello"` {
			all = append(all, a)
		}
	}
	return all, out.String()
}

// TestUnreadableLines: what is no message is answered, and the session goes on.
func TestUnreadableLines(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":"next","method":"ping"}` + "\n"
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"a line of a log":           {"npm warn deprecated: left-pad", "null -32700"},
		"a mark of the byte order":  {"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "1 0"},
		"NUL":                       {"\x00", "null -32700"},
		"half an object":            {`{"jsonrpc":"2.0","id":1,`, "null -32700"},
		"two objects":               {`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, "null -32700"},
		"an empty batch":            {`[]`, "null -32600"},
		"a number":                  {`42`, "null -32600"},
		"null":                      {`null`, "null -32600"},
		"a text":                    {`"hi"`, "null -32600"},
		"no version":                {`{"id":1,"method":"ping"}`, "null -32600"},
		"another version":           {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "null -32600"},
		"names in capitals":         {`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, "null -32600"},
		"an id that is true":        {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null -32600"},
		"an id that is an object":   {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null -32600"},
		"an id that is null":        {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null -32600"},
		"a method that is a number": {`{"jsonrpc":"2.0","id":1,"method":7}`, "null -32600"},
		"no method":                 {`{"jsonrpc":"2.0","id":1}`, "null -32600"},
		"nothing":                   {`{}`, "null -32600"},
		"an unknown method":         {`{"jsonrpc":"2.0","id":1,"method":"gibberish"}`, "1 -32601"},
		"an answer to nothing":      {`{"jsonrpc":"2.0","id":99,"result":{}}`, ""},
		"a broken answer":           {`{"jsonrpc":"2.0","id":99,"error":7}`, "null -32600"},
		"a blank line":              {" \t", ""},
		"an end of Windows":         {`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\r", "1 0"},
		"a batch":                   {`[{"jsonrpc":"2.0","id":1,"method":"ping"},7]`, "1 0, null -32600"},
		"too large a batch":         {"[" + strings.Repeat("1,", 100) + "1]", "null -32600"},
		"too long, the id first":    {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"` + strings.Repeat("x", stdio.MaxMessage) + `"}}`, "7 -32600"},
		"too long, the id last":     {`{"method":"tools/call","params":{"id":"no","x":"` + strings.Repeat("x", stdio.MaxMessage) + `"},"jsonrpc":"2.0","id":"a b"}`, `"a b" -32600`},
		"too long, no id":           {strings.Repeat("x", stdio.MaxMessage+3), "null -32600"},
	} {
		t.Run(name, func(t *testing.T) {
			all, text := spoken(t, newServer(options{Memory: newFake()}), c.line+"\n"+good)
			want := map[string]int{`"next" 0`: 1}
			for w := range strings.SplitSeq(c.want, ", ") {
				if w != "" {
					want[w]++
				}
			}
			for _, a := range all {
				want[a.String()]--
			}
			for w, n := range want {
				if n != 0 {
					t.Errorf("%s is missing %d times: %.500s", w, n, text)
				}
			}
			if strings.Contains(name, "too long") && !strings.Contains(text, CodeTooLarge) {
				t.Errorf("%.500s", text)
			}
		})
	}
}

// TestIDsComeBack: an id is answered as it was written, in one call at a time.
func TestIDsComeBack(t *testing.T) {
	ids := []string{"0", "-0", "7.0", "1.5", "1e3", "9007199254740993", "18446744073709551615", "123456789012345678901234567890", `""`, `"a"`, `"\u0061"`, `"ü\n"`}
	var in strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`+"\n", id)
	}
	all, text := spoken(t, newServer(options{Memory: newFake()}), in.String())
	got := map[string]bool{}
	for _, a := range all {
		got[string(a.ID)] = a.Error.Code == 0
	}
	for _, id := range ids {
		if !got[id] {
			t.Errorf("%s is not answered: %s", id, text)
		}
	}
}

// slow is a memory that answers when it is let go, or never.
type slow struct {
	*fake
	asked, let chan struct{}
}

func (s slow) Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	s.asked <- struct{}{}
	<-s.let
	return s.fake.Get(ctx, slug)
}

// TestIDInFlight: a second call with the id of one that is not answered is refused, and
// the id may be used again afterwards. A cancellation names the call by its own id.
func TestIDInFlight(t *testing.T) {
	m := slow{newFake(), make(chan struct{}, 9), make(chan struct{})}
	in, peer := io.Pipe()
	out, server := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- newServer(options{Memory: m, Timeout: time.Minute}).Run(t.Context(), in, server) }()
	answers := bufio.NewScanner(out)
	next := func() (a answered) {
		t.Helper()
		if !answers.Scan() || json.Unmarshal(answers.Bytes(), &a) != nil {
			t.Fatalf("%q, %v", answers.Text(), answers.Err())
		}
		return a
	}
	const read = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_read","arguments":{"slug":"x"}}}` + "\n"
	go io.WriteString(peer, hello+read)
	next()
	<-m.asked
	go io.WriteString(peer, read)
	if a := next(); a.String() != "null -32600" {
		t.Errorf("a second one: %v", a)
	}
	m.let <- struct{}{}
	if a := next(); a.String() != "1 0" {
		t.Errorf("the first one: %v", a)
	}
	go io.WriteString(peer, read)
	<-m.asked
	go io.WriteString(peer, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	for seen := ""; seen != "2 0"; {
		seen = next().String()
	}
	close(m.let)
	peer.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestEndWhateverIsInFlight: once the input has ended, a call that never ends keeps the
// server for stdio.LastAnswers, and no longer.
func TestEndWhateverIsInFlight(t *testing.T) {
	t.Parallel()
	m := slow{newFake(), make(chan struct{}, 9), make(chan struct{})}
	defer close(m.let)
	var out bytes.Buffer
	began := time.Now()
	in := hello + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory_read","arguments":{"slug":"x"}}}` + "\n"
	if err := newServer(options{Memory: m, Timeout: time.Hour}).Run(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < stdio.LastAnswers || len(m.asked) != 1 {
		t.Errorf("it ended after %v", took)
	}
}

// TestHeaders: what comes behind a header is answered behind one.
func TestHeaders(t *testing.T) {
	framed := func(s string) string {
		return fmt.Sprintf("Content-Length: %d\r\nContent-Type: x\r\n\r\n%s", len(s), s)
	}
	var out bytes.Buffer
	in := framed(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) + framed("{") + framed(strings.Repeat("x", stdio.MaxMessage+3)) + framed(`{"jsonrpc":"2.0","id":2,`+"\n"+`"method":"ping"}`) + "content-length: 9\n"
	if err := newServer(options{Memory: newFake()}).Run(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for r := bufio.NewReader(&out); ; {
		var size int
		if _, err := fmt.Fscanf(r, "Content-Length: %d\r\n\r\n", &size); err != nil {
			break
		}
		body := make([]byte, size)
		var a answered
		if _, err := io.ReadFull(r, body); err != nil || json.Unmarshal(body, &a) != nil {
			t.Fatalf("%q, %v", body, err)
		}
		got[a.String()] = true
	}
	for _, want := range []string{"1 0", "null -32700", "null -32600", "2 0"} {
		if !got[want] {
			t.Errorf("%s is missing: %v %q", want, got, out.String())
		}
	}
}
