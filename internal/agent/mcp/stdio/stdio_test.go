package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzLines: whatever arrives, each read ends, what is given to the SDK has a number of
// its own, and what is written is JSON.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":0,"method":"initialize"}`, "Content-Length: 2\r\n\r\n{}", `[{"jsonrpc":"2.0","id":1,"method":"x"}]`, `{"jsonrpc":"2.0","id":1.50,"method":"x","params":null}` + "\n\xef\xbb\xbf\n", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		conn, _ := (&Transport{In: bytes.NewReader(in), Out: &out, Long: "too_large"}).Connect(t.Context())
		defer conn.Close()
		seen := map[any]bool{}
		for {
			msg, err := conn.Read(t.Context())
			if err != nil {
				break
			}
			if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() {
				if seen[req.ID.Raw()] {
					t.Errorf("%v twice", req.ID.Raw())
				}
				seen[req.ID.Raw()] = true
				if err := conn.Write(t.Context(), &jsonrpc.Response{ID: req.ID, Result: json.RawMessage(`{}`)}); err != nil {
					t.Error(err)
				}
			}
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "Content-Length: ") {
				continue
			}
			for d := json.NewDecoder(strings.NewReader(line)); ; {
				var a struct{ ID json.RawMessage }
				if err := d.Decode(&a); err == io.EOF {
					break
				} else if rest, _ := io.ReadAll(d.Buffered()); err != nil && !bytes.HasPrefix(rest, []byte("Content-Length")) {
					t.Fatalf("%q: %v", line, err)
				} else if err != nil {
					break
				}
			}
		}
	})
}

// TestStrayHeader: a line that looks as a header takes no message along that comes on a
// line of its own.
func TestStrayHeader(t *testing.T) {
	in := "content-length: 120\n"
	for range 20 {
		in += `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	}
	r, n := bufio.NewReader(strings.NewReader(in)), 0
	for f := nextFrame(r); f.err == nil; f = nextFrame(r) {
		if n++; f.header || !bytes.HasPrefix(f.body, []byte("{")) {
			t.Errorf("%q", f.body)
		}
	}
	if n != 20 {
		t.Errorf("%d messages", n)
	}
}
