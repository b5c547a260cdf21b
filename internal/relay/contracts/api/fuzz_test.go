package api

import (
	"errors"
	"strings"
	"testing"

	"engramd/internal/relay/contracts"
)

// wantRefusal fails unless an error is the caller's fault and names a field of
// bounded length.
func wantRefusal(t *testing.T, err error) {
	t.Helper()
	var refusal *contracts.Error
	if !errors.As(err, &refusal) || refusal.Code != contracts.Invalid || len(refusal.Fields) != 1 {
		t.Fatalf("%v is no refusal of one field", err)
	}
	for field := range refusal.Fields {
		if field == "" || len(field) > maxFieldName {
			t.Errorf("the field %q", field)
		}
	}
}

// FuzzParseBody: a body of any operation is accepted, and accepted again after
// marshalling, or is a 400 that names a field.
func FuzzParseBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"a":1,"a":2}`, `{"type":"message","content":"x","visibility":"shared","attachments":["https://x.example"]}`,
		`{"status":"accepted","note":"x","event":{"id":"00"}}`, `{"query":"x","limit":1e9,"offset":-1}`, `{"agent_id":"a","pubkey":null}`,
		`{"worker_agent_id":"w","description":"d","amount_sats":9223372036854775808,"deadline":"2026-01-01T00:00:00Z"}`, "{\"type\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	parse := []func([]byte) error{
		func(b []byte) error { return parseBody(b, new(contracts.CreateRequest)) },
		func(b []byte) error { return parseBody(b, new(contracts.MoveRequest)) },
		func(b []byte) error { return parseBody(b, new(contracts.EntryRequest)) },
		func(b []byte) error { return parseBody(b, new(contracts.SearchRequest)) },
		func(b []byte) error { return parseBody(b, new(identityRequest)) },
		func(b []byte) error { return parseBody(b, new(claimRequest)) },
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, p := range parse {
			err := p(body)
			if err != nil {
				wantRefusal(t, err)
			}
			if again := p(append([]byte(" "), body...)); len(body) > 0 && (again == nil) != (err == nil) {
				t.Errorf("%q: %v, behind a space %v", body, err, again)
			}
		}
	})
}

// FuzzParseQuery: the values of any accepted query string are within the bounds
// of their parameters.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"", "limit=1&offset=2", "limit=501", "limit=+1", "limit=1&limit=1", "type=note&visibility=shared", "author=a&events=true", "%zz", "status=open;x", strings.Repeat("x", 200) + "=1"} {
		f.Add(seed)
	}
	all := operations()
	f.Fuzz(func(t *testing.T, raw string) {
		for _, op := range all {
			q, err := parseQuery(raw, op.params)
			if err != nil {
				wantRefusal(t, err)
				continue
			}
			for name := range q {
				if len(q[name]) > maxAgent {
					t.Errorf("%s has %d bytes", name, len(q[name]))
				}
			}
			if n := q.number("limit"); n < 0 || n > maxLimit {
				t.Errorf("limit %d", n)
			}
			if n := q.number("offset"); n < 0 || n > maxOffset {
				t.Errorf("offset %d", n)
			}
		}
	})
}
