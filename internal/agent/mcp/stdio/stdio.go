// Package stdio is the transport of MCP over stdin and stdout.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Transport has a message in each line (MCP, "Transports"). What is no message is answered
// with an error of JSON-RPC, and reading goes on: a line of a wrapper's log must not take
// the memory from a session. Ids go back as they came, digit for digit.
type Transport struct {
	In  io.Reader
	Out io.Writer
	// Long begins what is answered to a message of more than MaxMessage.
	Long string
}

// MaxMessage is the longest message that is taken, in bytes: several times the largest text
// of a memory as JSON can spell it.
const MaxMessage = 4 << 20

// Connect implements sdk.Transport.
func (l *Transport) Connect(context.Context) (sdk.Connection, error) {
	c := &lineConn{out: l.Out, long: l.Long, frames: make(chan frame), closed: make(chan struct{}), ids: map[int64]json.RawMessage{}, numbers: map[string]int64{}}
	go c.follow(bufio.NewReaderSize(l.In, 64<<10))
	return c, nil
}

// lineConn numbers the calls of its peer for the SDK, whose ids are integers and texts.
type lineConn struct {
	frames chan frame
	once   sync.Once
	closed chan struct{}

	rest []json.RawMessage // of a batch that is being read

	long string // Transport.Long

	mu      sync.Mutex
	out     io.Writer
	framed  bool                      // the last message came behind a header
	last    int64                     // the last number
	ids     map[int64]json.RawMessage // of calls that are not answered
	numbers map[string]int64          // the other way round
}

// SessionID implements sdk.Connection.
func (c *lineConn) SessionID() string { return "" }

// Close implements sdk.Connection. Whoever opened the streams closes them.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// follow reads until the input ends. It may outlive the connection, as long as the
// input gives nothing.
func (c *lineConn) follow(in *bufio.Reader) {
	for {
		f := nextFrame(in)
		select {
		case c.frames <- f:
		case <-c.closed:
			return
		}
		if f.err != nil {
			return
		}
	}
}

// Read implements sdk.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		for len(c.rest) > 0 {
			raw := c.rest[0]
			c.rest = c.rest[1:]
			msg, fault := c.message(raw)
			if fault == nil {
				return msg, nil
			}
			if err := c.refuse(nil, fault); err != nil {
				return nil, err
			}
		}
		select {
		case f := <-c.frames:
			if f.err != nil {
				return nil, f.err
			}
			if err := c.take(f); err != nil {
				return nil, err
			}
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// maxBatch is how many messages one line may have: the answers to what is none are
// longer than that.
const maxBatch = 100

// take takes the messages of a frame apart. The error is the output's.
func (c *lineConn) take(f frame) error {
	c.mu.Lock()
	c.framed = f.header
	c.mu.Unlock()
	body := bytes.TrimSpace(f.body)
	switch {
	case f.long:
		return c.refuse(f.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("%s: a message has at most %d bytes", c.long, MaxMessage)})
	case len(body) == 0:
		return nil
	case !json.Valid(body):
		return c.refuse(nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "it is no JSON: one message, in one line"})
	case body[0] != '[':
		c.rest = []json.RawMessage{body}
	case json.Unmarshal(body, &c.rest) != nil || len(c.rest) == 0 || len(c.rest) > maxBatch:
		c.rest = nil
		return c.refuse(nil, invalidRequest(fmt.Sprintf("a batch has 1 to %d messages", maxBatch)))
	}
	return nil
}

func invalidRequest(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why}
}

// message makes a message of what is JSON.
func (c *lineConn) message(raw json.RawMessage) (jsonrpc.Message, *jsonrpc.Error) {
	var fields map[string]json.RawMessage
	var method string
	if raw[0] != '{' || json.Unmarshal(raw, &fields) != nil {
		return nil, invalidRequest("a message is an object")
	}
	id, call := fields["id"]
	isRequest := fields["method"] != nil && json.Unmarshal(fields["method"], &method) == nil
	switch {
	case string(fields["jsonrpc"]) != `"2.0"`:
		return nil, invalidRequest(`"jsonrpc" is "2.0"`)
	case call && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return nil, invalidRequest("an id is a number or a text")
	case !isRequest && call && (fields["result"] != nil || fields["error"] != nil):
		msg, err := jsonrpc.DecodeMessage(raw)
		if err != nil {
			return nil, invalidRequest("it is no answer")
		}
		return msg, nil
	case !isRequest:
		return nil, invalidRequest("there is no method")
	}
	req := &jsonrpc.Request{Method: method, Params: fields["params"]}
	if string(req.Params) == "null" {
		req.Params = nil
	}
	if !call {
		c.cancelled(req)
		return req, nil
	}
	n, ok := c.number(id)
	if !ok {
		return nil, invalidRequest("a call with this id is not answered yet")
	}
	req.ID, _ = jsonrpc.MakeID(float64(n)) // a float64 is one
	return req, nil
}

// number gives a call a number of its own; false where its id is in use.
func (c *lineConn) number(id json.RawMessage) (n int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.numbers[string(id)]; used {
		return 0, false
	}
	c.last++
	c.ids[c.last], c.numbers[string(id)] = id, c.last
	return c.last, true
}

// cancelled has a cancellation name the call by its number.
func (c *lineConn) cancelled(req *jsonrpc.Request) {
	var fields map[string]json.RawMessage
	if req.Method != "notifications/cancelled" || json.Unmarshal(req.Params, &fields) != nil {
		return
	}
	c.mu.Lock()
	n := c.numbers[string(fields["requestId"])] // 0 is no call's
	c.mu.Unlock()
	fields["requestId"] = fmt.Append(nil, n)
	req.Params, _ = json.Marshal(fields) // it was JSON
}

// Write implements sdk.Connection.
func (c *lineConn) Write(_ context.Context, msg jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if answer, ok := msg.(*jsonrpc.Response); ok {
		n, _ := answer.ID.Raw().(int64)
		c.mu.Lock()
		id, known := c.ids[n]
		delete(c.ids, n)
		delete(c.numbers, string(id))
		c.mu.Unlock()
		begins := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,`, n)
		if !known || !bytes.HasPrefix(text, begins) {
			return fmt.Errorf("an answer to no call: %d", n)
		}
		text = append(append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), ','), text[len(begins):]...)
	}
	return c.emit(text)
}

// refuse answers what is no message; an id of nil is null.
func (c *lineConn) refuse(id json.RawMessage, fault *jsonrpc.Error) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, fault})
	return errors.Join(err, c.emit(text))
}

// emit writes a message as the peer frames its own.
func (c *lineConn) emit(text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.framed {
		text = append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(text)), text...)
	} else {
		text = append(text, '\n')
	}
	_, err := c.out.Write(text)
	return err
}
