package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// elem says how one value of type T is read and written.
type elem[T any] struct {
	one, many string                      // "duration", "durations"
	parse     func(string) (T, error)     // text to value, checked
	format    func(T) string              // value to TOML literal
	toml      func(v any) (string, error) // decoded TOML value to text
}

// scalar binds an option of one value to its place.
type scalar[T any] struct {
	at  *T
	def T
	elem[T]
}

func (s scalar[T]) reset()                 { *s.at = s.def }
func (s scalar[T]) literal() string        { return s.format(*s.at) }
func (s scalar[T]) defaultLiteral() string { return s.format(s.def) }
func (s scalar[T]) typeName() string       { return s.one }
func (s scalar[T]) isBool() bool           { _, ok := any(s.def).(bool); return ok }

func (s scalar[T]) copyFrom(v value) { *s.at = *v.(scalar[T]).at }

// setText takes the last text: a flag given twice means its last use.
func (s scalar[T]) setText(texts []string) error {
	v, err := s.parse(strings.TrimSpace(texts[len(texts)-1]))
	if err == nil {
		*s.at = v
	}
	return err
}

func (s scalar[T]) setTOML(v any) error {
	text, err := s.toml(v)
	if err != nil {
		return err
	}
	return s.setText([]string{text})
}

// list binds an option of several values to its place.
type list[T any] struct {
	at  *[]T
	sep string // between values in the environment and in a flag
	elem[T]
}

func (l list[T]) reset()                 { *l.at = nil }
func (l list[T]) literal() string        { return l.join(*l.at) }
func (l list[T]) defaultLiteral() string { return "[]" }
func (l list[T]) typeName() string       { return "list of " + l.many }
func (l list[T]) isBool() bool           { return false }

func (l list[T]) copyFrom(v value) { *l.at = slices.Clone(*v.(list[T]).at) }

func (l list[T]) join(vs []T) string {
	texts := make([]string, len(vs))
	for i, v := range vs {
		texts[i] = l.format(v)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// setText takes every part of every text; an empty text is an empty list, so
// that a variable can take back what the file says.
func (l list[T]) setText(texts []string) error {
	out := []T{}
	for _, text := range texts {
		for part := range strings.SplitSeq(text, l.sep) {
			part = strings.TrimSpace(part)
			if part == "" {
				continue
			}
			v, err := l.parse(part)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
	}
	*l.at = out
	return nil
}

func (l list[T]) setTOML(v any) error {
	vs, ok := v.([]any)
	if tables, isTables := v.([]map[string]any); isTables {
		for _, table := range tables {
			vs = append(vs, table)
		}
		ok = true
	}
	if !ok {
		return fmt.Errorf("want a %s, have %s", l.typeName(), tomlType(v))
	}
	out := make([]T, 0, len(vs))
	for i, v := range vs {
		text, err := l.toml(v)
		if err == nil {
			var e T
			if e, err = l.parse(text); err == nil {
				out = append(out, e)
				continue
			}
		}
		return fmt.Errorf("entry %d: %w", i+1, err)
	}
	*l.at = out
	return nil
}

// tomlType names the type of a decoded TOML value for an error.
func tomlType(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any, []map[string]any:
		return "a table"
	}
	return "a date or time"
}

var errEmpty = errors.New("must not be empty")

// SecretVariables names the environment variables that options point to
// ("env:NAME"): what is in them is a secret, and no program that the daemon
// starts gets to see it.
func (c *Config) SecretVariables() []string {
	var names []string
	for _, o := range c.options() {
		if name, ok := strings.CutPrefix(strings.Trim(o.value.literal(), `"`), "env:"); ok {
			names = append(names, name)
		}
	}
	return names
}
