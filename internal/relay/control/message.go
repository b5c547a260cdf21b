package control

import (
	"encoding/json"
	"errors"
	"net"
	"time"

	"engramd/internal/relay/ingest"
)

// The commands with input. All others are names of orders.
const (
	cmdImport  = "import"
	cmdReplace = "replace"
)

// errUnknown is the answer to an unknown command.
var errUnknown = errors.New("this daemon does not know the command: it is another version than yours")

// request is the first line of a conversation. An order's arguments are further
// members of the object.
type request struct {
	Command string `json:"command"`
	Hears   bool   `json:"hears,omitempty"` // the client takes what an order tells
}

// requestLine returns the line of a command. args is nil, or a value that
// encodes as a JSON object.
func requestLine(r request, args any) ([]byte, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if args != nil {
		members, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		if len(members) > len("{}") {
			line = append(append(line[:len(line)-1], ','), members[1:]...)
		}
	}
	return append(line, '\n'), nil
}

// reply is one line of the daemon's answer; exactly one field is set.
type reply struct {
	Skipped  *ingest.Skipped       `json:"skipped,omitempty"`
	Agent    *ingest.ReplacedAgent `json:"agent,omitempty"`
	Progress *ingest.Tally         `json:"progress,omitempty"`
	Told     json.RawMessage       `json:"told,omitempty"` // by an order that runs
	Done     *done                 `json:"done,omitempty"`
}

// done ends an answer. Error is empty when the input was read to its end.
type done struct {
	Tally  ingest.Tally    `json:"tally,omitzero"`   // of imports
	Result json.RawMessage `json:"result,omitempty"` // of orders
	Error  string          `json:"error,omitempty"`
}

// replies sends an import's progress to the command.
type replies struct {
	conn net.Conn
	last time.Time
}

func (r *replies) send(v reply) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := r.conn.SetWriteDeadline(time.Now().Add(replyTimeout)); err != nil {
		return err
	}
	_, err = r.conn.Write(append(text, '\n'))
	return err
}

// Skip reports a skipped line.
func (r *replies) Skip(s ingest.Skipped) error { return r.send(reply{Skipped: &s}) }

// Agent reports the outcome for an agent.
func (r *replies) Agent(a ingest.ReplacedAgent) error { return r.send(reply{Agent: &a}) }

// Tick reports progress, once a second at most.
func (r *replies) Tick(t ingest.Tally) error {
	if time.Since(r.last) < time.Second {
		return nil
	}
	r.last = time.Now()
	return r.send(reply{Progress: &t})
}
