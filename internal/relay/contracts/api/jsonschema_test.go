package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// document is a decoded OpenAPI document.
type document map[string]any

func obj(v any) map[string]any { m, _ := v.(map[string]any); return m }
func arr(v any) []any          { a, _ := v.([]any); return a }

// resolve follows references within the document.
func (d document) resolve(schema map[string]any) map[string]any {
	for {
		ref, ok := schema["$ref"].(string)
		if !ok {
			return schema
		}
		var at any = map[string]any(d)
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			at = obj(at)[part]
		}
		if at == nil {
			panic("no such reference: " + ref)
		}
		schema = obj(at)
	}
}

// known are the keywords that check evaluates, and those that constrain
// nothing.
var known = []string{"$ref", "type", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "format", "items",
	"properties", "required", "additionalProperties", "anyOf", "description"}

// check describes what is wrong with a value under a schema (JSON Schema as
// OpenAPI 3.1 has it), or returns "". A keyword that it does not know is an
// error.
func (d document) check(schema map[string]any, v any, at string) string {
	schema = d.resolve(schema)
	for word := range schema {
		if !slices.Contains(known, word) {
			return at + ": the schema has a keyword that is not checked: " + word
		}
	}
	if choices := arr(schema["anyOf"]); choices != nil {
		var why []string
		for _, c := range choices {
			fault := d.check(obj(c), v, at)
			if fault == "" {
				return ""
			}
			why = append(why, fault)
		}
		return strings.Join(why, ", and ")
	}
	if enum := arr(schema["enum"]); enum != nil && !slices.ContainsFunc(enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return fmt.Sprintf("%s: %v is none of %v", at, v, enum)
	}
	want, typed := schema["type"].(string)
	if typed && want != kindOf(v) {
		return fmt.Sprintf("%s: %s, want %s", at, kindOf(v), want)
	}
	switch v := v.(type) {
	case string:
		return d.checkText(schema, v, at)
	case float64:
		if least, ok := schema["minimum"].(float64); ok && v < least {
			return fmt.Sprintf("%s: %v is too small", at, v)
		}
		if most, ok := schema["maximum"].(float64); ok && v > most {
			return fmt.Sprintf("%s: %v is too large", at, v)
		}
	case []any:
		for i, e := range v {
			if fault := d.check(obj(schema["items"]), e, fmt.Sprintf("%s[%d]", at, i)); fault != "" {
				return fault
			}
		}
	case map[string]any:
		return d.checkObject(schema, v, at)
	}
	return ""
}

func (d document) checkText(schema map[string]any, v, at string) string {
	if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
		return fmt.Sprintf("%s: %q does not match %s", at, v, pattern)
	}
	n := float64(utf8.RuneCountInString(v))
	if least, ok := schema["minLength"].(float64); ok && n < least {
		return at + " is too short"
	}
	if most, ok := schema["maxLength"].(float64); ok && n > most {
		return at + " is too long"
	}
	if schema["format"] == "date-time" {
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			return fmt.Sprintf("%s: %q is no time", at, v)
		}
	}
	return ""
}

func (d document) checkObject(schema map[string]any, v map[string]any, at string) string {
	for _, name := range arr(schema["required"]) {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Sprintf("%s lacks %v", at, name)
		}
	}
	properties := obj(schema["properties"])
	for name, value := range v {
		member := obj(properties[name])
		if member == nil {
			if schema["additionalProperties"] == false {
				return fmt.Sprintf("%s has %s, which its schema has not", at, name)
			}
			member = obj(schema["additionalProperties"])
		}
		if fault := d.check(member, value, at+"."+name); fault != "" {
			return fault
		}
	}
	return ""
}

// kindOf names the JSON type of a decoded value; integers have their own.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
	}
	return "number"
}

func readDocument(raw []byte) (d document, err error) {
	err = json.Unmarshal(raw, &d)
	return d, err
}
