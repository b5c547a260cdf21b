package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// meant returns arguments as the tool's input has them, whose type its schema is made from:
// clients write a list, an object, a number or a boolean as a text that is its JSON, and one
// text for a list of one. Where a text is wanted, it is that text, whatever it looks like.
// Arguments in which nothing has to be changed are returned byte for byte. The error names
// what cannot be meant.
func meant(in reflect.Type, arguments json.RawMessage) (json.RawMessage, error) {
	var given map[string]json.RawMessage
	if in == nil || json.Unmarshal(arguments, &given) != nil {
		return arguments, nil // the SDK says what that is
	}
	return meantMembers("", in, arguments, given)
}

// meantMembers is meant of an object's members. Of those that are none the SDK says so.
func meantMembers(name string, in reflect.Type, raw json.RawMessage, given map[string]json.RawMessage) (json.RawMessage, error) {
	types, changed := map[string]reflect.Type{}, false
	if in.Kind() == reflect.Map {
		for member := range given {
			types[member] = in.Elem()
		}
	} else {
		for _, f := range reflect.VisibleFields(in) {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			types[member] = f.Type
		}
	}
	for _, member := range slices.Sorted(maps.Keys(types)) {
		value, ok := given[member]
		if !ok {
			continue
		}
		path := strings.TrimPrefix(name+"."+member, ".")
		if in.Kind() == reflect.Map {
			path = name + "." + quoted(member)
		}
		as, err := meantValue(path, types[member], value)
		if err != nil {
			return nil, err
		}
		if given[member] = as; as == nil {
			delete(given, member)
		}
		changed = changed || !bytes.Equal(as, value)
	}
	if !changed {
		return raw, nil
	}
	return json.Marshal(given)
}

// meantValue is meant of one value; nil is none, which a text may say too.
func meantValue(name string, t reflect.Type, raw json.RawMessage) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var text string
	value := raw
	if t.Kind() == reflect.Interface || string(raw) == "null" {
		return raw, nil
	} else if t.Kind() != reflect.String && json.Unmarshal(raw, &text) == nil {
		value = spelt(t, raw, strings.TrimSpace(text))
	}
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch kind := t.Kind(); {
	case string(value) == "null":
		return nil, nil
	case kind == reflect.Slice && json.Unmarshal(value, &list) == nil:
		same := true
		for i, one := range list {
			as, err := meantValue(name+"["+strconv.Itoa(i)+"]", t.Elem(), one)
			if err != nil {
				return nil, err
			}
			same, list[i] = same && bytes.Equal(as, one), as
		}
		if same {
			return value, nil
		}
		return json.Marshal(list)
	case (kind == reflect.Map || kind == reflect.Struct) && json.Unmarshal(value, &object) == nil:
		return meantMembers(name, t, value, object)
	case kind == reflect.String && value[0] == '"', kind == reflect.Bool && (string(value) == "true" || string(value) == "false"):
		return value, nil
	case kind == reflect.Int, kind == reflect.Int64, kind == reflect.Float64:
		if as := numeral(t, value); as != nil {
			return as, nil
		}
	}
	return nil, invalidf("%s must be %s.", name, wanted(t))
}

// spelt returns what a text is that stands where another type is wanted, nil for nothing.
func spelt(t reflect.Type, raw json.RawMessage, text string) json.RawMessage {
	valid, texts := json.Valid([]byte(text)), t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String
	switch {
	case t.Kind() == reflect.Bool:
		return json.RawMessage(strings.ToLower(text)) // as Python has them
	case texts && text != "null" && (!strings.HasPrefix(text, "[") || !valid && !strings.HasPrefix(strings.TrimSpace(text[1:]), `"`)): // no list that was cut off
		return slices.Concat([]byte("["), raw, []byte("]"))
	case valid && text[0] != '"' && !(texts && text == "null"): // which may be a text
		return json.RawMessage(text)
	}
	return nil
}

// numeral returns a number as it is decoded, nil for another type: a whole one may be
// written with a point, as far as a float is exact.
func numeral(t reflect.Type, value json.RawMessage) json.RawMessage {
	var n float64
	if json.Unmarshal(value, &n) != nil {
		return nil
	}
	if _, err := strconv.ParseInt(string(value), 10, t.Bits()); err == nil || t.Kind() == reflect.Float64 {
		return value
	}
	if math.Abs(n) >= 1<<53 || n != math.Trunc(n) {
		return nil
	}
	return strconv.AppendInt(nil, int64(n), 10)
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
	case reflect.Slice:
		return "a list, and each of it " + wanted(t.Elem())
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "a whole number"
}
