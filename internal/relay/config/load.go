package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

const (
	envPrefix = "ENGRAMD_"
	fileEnv   = "ENGRAMD_CONFIG" // stands for --config
)

// Sources are where a configuration comes from. Loading the same sources again
// (SIGHUP) reads the file anew; flags and environment stay what they were.
type Sources struct {
	Flags *Flags   // nil: none
	Env   []string // "NAME=value", as os.Environ gives it
	File  string   // TOML file; "" takes --config, then ENGRAMD_CONFIG, then none
	Serve bool     // the relay itself is to run with it: check what its ports and names need, too
}

// Path returns the file that Load reads, "" for none.
func (s Sources) Path() string {
	if s.File != "" {
		return s.File
	}
	if s.Flags != nil && s.Flags.File != "" {
		return s.Flags.File
	}
	for _, kv := range s.Env {
		if v, ok := strings.CutPrefix(kv, fileEnv+"="); ok {
			return v
		}
	}
	return ""
}

// Load reads and checks a configuration. The error joins all that is wrong,
// each with the name of its key, flag or variable.
func Load(s Sources) (*Config, error) {
	c := Default()
	opts, now := c.options(), new(Bounds)
	olds := c.removed(now)
	for _, p := range olds {
		opts = append(opts, p.Option)
	}
	var errs []error
	if path := s.Path(); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		errs = append(errs, c.setFile(opts, path, string(text))...)
	}
	errs = append(errs, c.setEnv(opts, s.Env)...)
	if s.Flags != nil {
		errs = append(errs, c.setFlags(opts, s.Flags)...)
	}
	if len(errs) == 0 {
		errs = append(c.check(), c.settle(olds, now, s.Serve)...)
	}
	if len(errs) == 0 && s.Serve {
		errs = c.checkServing()
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

func (c *Config) setEnv(opts []*Option, env []string) []error {
	var errs []error
	env = slices.Clone(env)
	slices.Sort(env) // errors in an order that does not change
	for _, kv := range env {
		name, text, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, envPrefix) || name == fileEnv || kubernetes(name) {
			continue
		}
		i := slices.IndexFunc(opts, func(o *Option) bool { return o.Env() == name })
		if i < 0 {
			errs = append(errs, unknown("environment variable", name, opts, (*Option).Env))
			continue
		}
		if err := opts[i].value.setText([]string{text}); err != nil {
			errs = append(errs, fmt.Errorf("%s (environment variable for %s): %w", name, opts[i].Key, err))
		}
		c.origins[opts[i].Key] = "environment " + name
	}
	return errs
}

// kubernetes sets these by itself in pods beside a service called "engramd".
func kubernetes(name string) bool {
	return name == "ENGRAMD_PORT" || strings.HasPrefix(name, "ENGRAMD_PORT_") || strings.HasPrefix(name, "ENGRAMD_SERVICE_")
}

func (c *Config) setFlags(opts []*Option, flags *Flags) []error {
	var errs []error
	for _, o := range opts {
		texts, ok := flags.texts[o.Key]
		if !ok {
			continue
		}
		if err := o.value.setText(texts); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", o.Flag(), err))
		}
		c.origins[o.Key] = "flag --" + o.Flag()
	}
	return errs
}

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
		if table && len(sub) == 0 && slices.ContainsFunc(opts, func(o *Option) bool { return o.section() == key }) {
			continue // an empty section says nothing
		}
		into[key] = v
	}
}
