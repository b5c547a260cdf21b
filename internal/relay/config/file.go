package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/BurntSushi/toml"
)

// setFile applies a TOML file. Every key of it must be an option.
func (c *Config) setFile(opts []*Option, path, text string) []error {
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			return []error{fmt.Errorf("%s: line %d: %s", path, parse.Position.Line, parse.Message)}
		}
		return []error{fmt.Errorf("%s: %w", path, err)}
	}
	values := map[string]any{}
	flatten(values, "", tree, opts)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		i := slices.IndexFunc(opts, func(o *Option) bool { return o.Key == key })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s: %w", path, unknown("key", key, opts, func(o *Option) string { return o.Key })))
			continue
		}
		if err := opts[i].value.setTOML(values[key]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", path, key, err))
		}
		c.origins[key] = "file " + path
	}
	return errs
}

// flatten writes the leaves of tree under their dotted keys. A table that
// stands where an option is expected stays whole, to be refused with its name.
func flatten(into map[string]any, prefix string, tree map[string]any, opts []*Option) {
	for k, v := range tree {
		key := prefix + k
		sub, table := v.(map[string]any)
		isOption := slices.ContainsFunc(opts, func(o *Option) bool { return o.Key == key })
		if table && !isOption && len(sub) > 0 {
			flatten(into, key+".", sub, opts)
			continue
		}
		if table && len(sub) == 0 && slices.ContainsFunc(sections(), func(s section) bool { return s.name == key }) {
			continue // an empty section says nothing
		}
		into[key] = v
	}
}
