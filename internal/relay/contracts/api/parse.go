package api

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"engramd/internal/relay/contracts"
)

// parseBody reads a JSON object into v strictly: no unknown and no duplicate
// members, valid UTF-8, nothing after the object. A null member counts as left
// out. The error names the member.
func parseBody(body []byte, v any) error {
	if len(body) == 0 {
		return contracts.Wrong("body", "is empty; it must be a JSON object")
	}
	err := json.Unmarshal(body, v, json.RejectUnknownMembers(true))
	if err == nil {
		if jsontext.Value(body).Kind() == 'n' {
			return contracts.Wrong("body", "must be one JSON object")
		}
		return nil
	}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	field, what := "body", "must be one JSON object"
	switch {
	case errors.As(err, &syntactic):
		if errors.Is(err, jsontext.ErrDuplicateName) {
			field, what = fieldOf(syntactic.JSONPointer), "is given twice"
		} else {
			what = "is not valid JSON"
		}
	case errors.As(err, &semantic):
		field = fieldOf(semantic.JSONPointer)
		switch {
		case errors.Is(err, json.ErrUnknownName):
			what = "is unknown here"
		case field != "body":
			what = "is of the wrong type"
		}
	}
	return contracts.Wrong(field, "%s", what)
}

// maxFieldName bounds a name that an error repeats.
const maxFieldName = 64

// fieldOf returns the member of the body that a pointer is, or is in.
func fieldOf(p jsontext.Pointer) string {
	for token := range p.Tokens() {
		if token == "" || len(token) > maxFieldName {
			break
		}
		return token
	}
	return "body"
}

// query holds the parameters of a request, each known and given once.
type query map[string]string

// number returns a parameter's value, which was checked; zero without it.
func (q query) number(name string) int {
	n, _ := strconv.Atoi(q[name])
	return n
}

// parseQuery reads a query string against the parameters that an operation has.
func parseQuery(raw string, params []param) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, contracts.Wrong("query", "does not parse")
	}
	q := query{}
	for name, given := range values {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		switch {
		case i < 0 && (name == "" || len(name) > maxFieldName):
			return nil, contracts.Wrong("query", "has an unknown parameter")
		case i < 0:
			return nil, contracts.Wrong(name, "is unknown here")
		case len(given) != 1:
			return nil, contracts.Wrong(name, "is given twice")
		}
		if err := params[i].check(given[0]); err != nil {
			return nil, err
		}
		q[name] = given[0]
	}
	return q, nil
}

// param describes a parameter of the query string.
type param struct {
	name, help string
	values     []string // a closed set
	number     bool     // digits, from least on
	least      int
	most       int
	boolean    bool
}

// check checks a value by itself.
func (p param) check(value string) error {
	switch {
	case p.values != nil && !slices.Contains(p.values, value):
		return contracts.Wrong(p.name, "must be one of %s", strings.Join(p.values, ", "))
	case p.boolean && value != "true" && value != "false":
		return contracts.Wrong(p.name, "must be true or false")
	case p.number:
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil || strconv.FormatUint(n, 10) != value || int(n) < p.least || int(n) > p.most {
			return contracts.Wrong(p.name, "must be a number from %d to %d", p.least, p.most)
		}
	case !p.boolean && p.values == nil && (value == "" || len(value) > maxAgent):
		return contracts.Wrong(p.name, "must have 1 to %d characters", maxAgent)
	}
	return nil
}

// maxAgent is the length of the longest agent id: a name, or a key in hex.
const maxAgent = 64
