package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// meaning gives the arguments of each tool the types that its schema has, before the SDK
// validates them. inputs are the types that the schemas are made from.
func meaning(inputs map[string]reflect.Type) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || inputs[call.Params.Name] == nil {
				return next(ctx, method, req)
			}
			arguments, err := meant(inputs[call.Params.Name], call.Params.Arguments)
			if err != nil {
				res := &sdk.CallToolResult{}
				res.SetError(err)
				return res, nil
			}
			call.Params.Arguments = arguments
			return next(ctx, method, req)
		}
	}
}

// meant returns arguments as the tool's input has them: clients write a list, an object, a
// number or a boolean as a text that is its JSON, and one text for a list of one. Where a
// text is wanted, it is that text, whatever it looks like. Arguments in which nothing has to
// be changed are returned byte for byte. The error names what cannot be meant.
func meant(in reflect.Type, arguments json.RawMessage) (json.RawMessage, error) {
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil || given == nil {
		return arguments, nil // the SDK says what that is
	}
	return meantFields("", in, arguments, given)
}

// meantFields is meant of the members of an object.
func meantFields(name string, in reflect.Type, raw json.RawMessage, given map[string]json.RawMessage) (json.RawMessage, error) {
	changed := false
	mean := func(member, path string, t reflect.Type) error {
		value, ok := given[member]
		if !ok {
			return nil
		}
		as, err := meantValue(path, t, value)
		if err != nil {
			return err
		}
		if given[member] = as; string(as) == "null" && string(value) != "null" {
			delete(given, member)
		}
		changed = changed || !bytes.Equal(as, value)
		return nil
	}
	if in.Kind() == reflect.Map {
		for _, member := range slices.Sorted(maps.Keys(given)) {
			if err := mean(member, name+"["+quoted(member)+"]", in.Elem()); err != nil {
				return nil, err
			}
		}
	} else {
		if name != "" {
			name += "."
		}
		for _, f := range reflect.VisibleFields(in) {
			if member, _, _ := strings.Cut(f.Tag.Get("json"), ","); member != "" && member != "-" {
				if err := mean(member, name+member, f.Type); err != nil {
					return nil, err
				}
			}
		}
	}
	if !changed {
		return raw, nil
	}
	return json.Marshal(given)
}

// meantValue is meant of one value. What it refuses is of the wrong type, or a text that is
// nothing of the right one. A null says nothing, as a value and as a text.
func meantValue(name string, t reflect.Type, raw json.RawMessage) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if raw = bytes.TrimSpace(raw); t.Kind() == reflect.Interface || string(raw) == "null" {
		return raw, nil
	}
	value := raw
	if raw[0] == '"' && t.Kind() != reflect.String {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err // the arguments were read
		}
		value = spelt(t, raw, strings.TrimSpace(text))
	}
	switch string(value) {
	case "":
		return nil, notMeant(name, t, raw)
	case "null":
		return value, nil
	}
	switch t.Kind() {
	case reflect.Slice:
		var all []json.RawMessage
		if json.Unmarshal(value, &all) != nil {
			return nil, notMeant(name, t, raw)
		}
		same := true
		for i, one := range all {
			as, err := meantValue(name+"["+strconv.Itoa(i)+"]", t.Elem(), one)
			if err != nil {
				return nil, err
			}
			same, all[i] = same && bytes.Equal(as, one), as
		}
		if same {
			return value, nil
		}
		return json.Marshal(all)
	case reflect.Map, reflect.Struct:
		var given map[string]json.RawMessage
		if json.Unmarshal(value, &given) != nil {
			return nil, notMeant(name, t, raw)
		}
		return meantFields(name, t, value, given)
	}
	if as, ok := single(t, value); ok {
		return as, nil
	}
	return nil, notMeant(name, t, raw)
}

// spelt returns what a text is that stands where another type is wanted, nil for nothing.
func spelt(t reflect.Type, raw json.RawMessage, text string) json.RawMessage {
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String && text != "null":
		// A link is no list.
		if !strings.HasPrefix(text, "[") || strings.HasPrefix(text, "[[") && !json.Valid([]byte(text)) {
			return json.RawMessage("[" + string(raw) + "]")
		}
	case t.Kind() == reflect.Bool:
		text = strings.ToLower(text) // as Python has them
	}
	if !json.Valid([]byte(text)) || text[0] == '"' {
		return nil
	}
	return json.RawMessage(text)
}

// single returns a text, a boolean or a number, of which a whole one may be written with a
// point, as it is decoded.
func single(t reflect.Type, value json.RawMessage) (json.RawMessage, bool) {
	switch {
	case t.Kind() == reflect.String:
		return value, value[0] == '"'
	case t.Kind() == reflect.Bool:
		return value, string(value) == "true" || string(value) == "false"
	case value[0] != '-' && (value[0] < '0' || value[0] > '9'):
		return nil, false
	}
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || t.Kind() == reflect.Float64 {
		return value, err == nil
	}
	if _, err := strconv.ParseInt(string(value), 10, t.Bits()); err == nil {
		return value, true
	}
	const exact = 1 << 53 // from here on a float is no number that somebody wrote
	if math.Abs(n) >= exact || n != math.Trunc(n) {
		return nil, false
	}
	return strconv.AppendInt(nil, int64(n), 10), true
}

// notMeant says what an argument should be, and what it is.
func notMeant(name string, t reflect.Type, raw json.RawMessage) error {
	is := "a number"
	switch raw[0] {
	case '"':
		is = "a text that is none"
	case '[':
		is = "a list"
	case '{':
		is = "an object"
	case 't', 'f':
		is = "true or false"
	}
	return invalidf("%s must be %s, and is %s.", name, wanted(t), is)
}

// wanted says what a type is.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice:
		switch t.Elem().Kind() {
		case reflect.String:
			return `a list of texts, such as ["a", "b"]`
		case reflect.Int:
			return "a list of whole numbers, such as [1, 2]"
		}
		return "a list"
	}
	return "a whole number"
}
