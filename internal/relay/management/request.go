package management

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"engramd/nips/nip01"
)

// MaxBody is the largest call in bytes.
const MaxBody = 64 << 10

// request is a call as it came: {"method": …, "params": […]}.
type request struct {
	Method string           `json:"method"`
	Params []jsontext.Value `json:"params"`
}

// parse reads a request strictly: one JSON object, no member twice, valid
// UTF-8. Members that NIP-86 does not have ("id", "jsonrpc") are ignored. The
// error names the fault and nothing of the text.
func parse(body []byte) (request, error) {
	var r request
	if len(body) > MaxBody {
		return r, Invalid("the call is too large")
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return request{}, Invalid(`the body must be one JSON object {"method": "…", "params": […]}`)
	}
	if r.Method == "" {
		return r, Invalid("there is no method")
	}
	return r, nil
}

// plausible reports whether a method's name may be recorded: it is a word, and
// not a secret in the wrong place.
func plausible(method string) bool {
	for _, c := range method {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return len(method) <= 40
}

// arity returns how many parameters a method takes, as text.
func (m *method) arity() string {
	switch {
	case len(m.params) == 0:
		return "this method takes no parameters"
	case m.need == len(m.params):
		return fmt.Sprintf("this method takes %d parameter(s)", m.need)
	}
	return fmt.Sprintf("this method takes %d to %d parameters", m.need, len(m.params))
}

// numbered adds to an error which parameter, from 1, it is about.
func numbered(n int, err error) error {
	var e *nip01.Refusal
	if !errors.As(err, &e) {
		return err
	}
	return nip01.Refuse(e.Prefix, "parameter %d: %s", n+1, e.Text)
}

// Invalid returns the error for a call that cannot be understood, or that names
// something that does not exist.
func Invalid(text string) error { return &nip01.Refusal{Prefix: nip01.PrefixInvalid, Text: text} }

// Restricted returns the error for a call that managing keys may not make.
func Restricted(text string) error { return &nip01.Refusal{Prefix: nip01.PrefixRestricted, Text: text} }

// errFailed hides the cause of a failure, which is in the log.
var errFailed = nip01.Refuse(nip01.PrefixError, "the relay could not carry out the call; nothing was changed")

// outcome returns an error's name in metrics and in the audit table.
func outcome(err error) string {
	var e *nip01.Refusal
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e) && e.Prefix == nip01.PrefixInvalid:
		return "invalid"
	case errors.As(err, &e) && e.Prefix != nip01.PrefixError:
		return "restricted"
	}
	return "error"
}
