package config

import (
	"strings"
)

// Option describes one option. Flag and environment variable follow from the
// key, so they cannot disagree with it.
type Option struct {
	Key  string // TOML key, "section.name"
	Help string // one or two sentences, for --help, the example file and the docs
	Live bool   // whether SIGHUP can change it

	value value
}

// Options returns the declarations in the order they are documented in.
func Options() []Option {
	opts := Default().options()
	out := make([]Option, len(opts))
	for i, o := range opts {
		out[i] = *o
	}
	return out
}

// Flag returns the command-line name without dashes: limits.filter_values is
// limits-filter-values. The switch of a cluster is its section's name.
func (o *Option) Flag() string {
	if o.Key == clusterSwitch {
		return o.section()
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(o.Key)
}

// Env returns the environment variable: limits.filter_values is
// ENGRAMD_LIMITS_FILTER_VALUES.
func (o *Option) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(o.Key, ".", "_"))
}

// Default returns the default as a TOML literal.
func (o *Option) Default() string { return o.value.defaultLiteral() }

// Type reports what the option takes, in words: "duration", "list of pubkeys".
func (o *Option) Type() string { return o.value.typeName() }

// section returns the TOML table the option stands in; "" is the top level.
func (o *Option) section() string {
	if s, _, ok := strings.Cut(o.Key, "."); ok {
		return s
	}
	return ""
}

// name returns the key within its table.
func (o *Option) name() string { return o.Key[strings.LastIndexByte(o.Key, '.')+1:] }

// value is one option's place in a Config.
type value interface {
	setText(texts []string) error // from flags (one text per use) or the environment (one)
	setTOML(v any) error          // from a decoded file
	reset()                       // to the default
	literal() string              // the current value as TOML
	defaultLiteral() string
	typeName() string
	isBool() bool         // whether the flag may stand alone
	copyFrom(other value) // the same option of another Config
}
